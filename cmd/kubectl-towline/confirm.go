package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// confirm asks the person at the terminal. Ctrl-C ends the wait for an answer, which goes on unheard until the program ends.
func (o *options) confirm(ctx context.Context, what string) error {
	fmt.Fprintf(o.ErrOut, "%s. Go on? [y/N] ", plain(what))
	if o.answers == nil {
		o.answers = bufio.NewReader(o.In)
	}
	answered := make(chan string, 1)
	go func() {
		line, _ := o.answers.ReadString('\n') // what ends without an answer has not been agreed to
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
