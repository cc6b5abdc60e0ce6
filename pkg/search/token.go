package search

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxToken bounds the token file.
const maxToken = 64 << 10

// readToken returns the token in a file. An empty file, and a file with a character not allowed in a token, are errors.
// The error does not contain the content of the file.
func readToken(file string) (string, error) {
	data, err := readFile(file, maxToken)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s holds no token", file)
	}
	return token, nil
}

// readFile returns the content of a file. A file longer than limit bytes is an error.
func readFile(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", file, limit)
	}
	return data, err
}
