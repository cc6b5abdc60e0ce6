package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// confirm asks the user at the terminal. Ctrl-C ends the wait. The reader goes on in the background until the program
// ends.
func (o *options) confirm(ctx context.Context, what string) error {
	fmt.Fprintf(o.ErrOut, "%s. Go on? [y/N] ", plain(what))
	if o.answers == nil {
		o.answers = bufio.NewReader(o.In)
	}
	answered := make(chan string, 1)
	go func() {
		line, _ := o.answers.ReadString('\n') // an input without a full line is no agreement
		answered <- line
	}()
	select {
	case line := <-answered:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return errors.New("not agreed to, and not written: answer y, or add --yes")
	case <-ctx.Done():
		fmt.Fprintln(o.ErrOut)
		return errors.New("interrupted, and not written")
	}
}
