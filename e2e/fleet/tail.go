package fleet

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// tail returns the last lines of a log, under a heading with the file's name.
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
	// 64 KiB are far more than the requested lines, and far less than a long log.
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
