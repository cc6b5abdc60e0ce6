package fleet

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// tail gives the last lines of a log, under a heading that names the file.
func tail(path string, lines int) string {
	text, err := lastLines(path, lines)
	if err != nil {
		return fmt.Sprintf("(its log %s cannot be read: %v)", path, err)
	}
	return fmt.Sprintf("--- last lines of %s\n%s\n---", path, text)
}

func lastLines(path string, lines int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	// Far more than the lines asked for, far less than a log can grow to.
	if info, err := file.Stat(); err == nil && info.Size() > 64<<10 {
		if _, err := file.Seek(-64<<10, io.SeekEnd); err != nil {
			return "", err
		}
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	all := strings.Split(string(bytes.TrimRight(data, "\n")), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n"), nil
}
