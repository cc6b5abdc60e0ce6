package search

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxToken bounds the token file.
const maxToken = 64 << 10

// readToken is the token in a file. What it says of a file that holds none does not quote it.
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

// readFile reads a file that must not be longer than limit.
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
