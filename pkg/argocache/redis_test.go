package argocache

import (
	"crypto/tls"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/towline-io/towline/pkg/search/searchtest"
)

// file writes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRedis(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("secret")
	r := NewRedis(Address{HostPort: server.Addr(), PasswordFile: file(t, "secret\n")})
	listener := server.NewSubscriber()
	listener.Subscribe("channel")
	heard := func(after string) {
		t.Helper()
		select {
		case <-listener.Messages():
		case <-time.After(10 * time.Second):
			t.Errorf("nobody hears of %s", after)
		}
	}
	go func() {
		if err := r.Set(t.Context(), "key", "channel", []byte("value"), time.Hour); err != nil {
			t.Error(err)
		}
	}()
	heard("an entry")
	if got, err := server.Get("key"); got != "value" || server.TTL("key") != time.Hour {
		t.Errorf("got %q, %v, for %s", got, err, server.TTL("key"))
	}
	server.FastForward(30 * time.Minute)
	if there, err := r.Renew(t.Context(), "key", time.Hour); !there || err != nil || server.TTL("key") != time.Hour {
		t.Errorf("renewed: %t, %v, for %s", there, err, server.TTL("key"))
	}
	if there, err := r.Renew(t.Context(), "other", time.Hour); there || err != nil {
		t.Errorf("renewed what is not there: %t, %v", there, err)
	}
	go func() {
		if err := r.Remove(t.Context(), "key", "channel"); err != nil {
			t.Error(err)
		}
	}()
	heard("its end")
	if server.Exists("key") {
		t.Error("the entry is still there")
	}
}

// TestRedisIsVerified checks that Towline sends a password only to a Redis verified by the authorities.
func TestRedisIsVerified(t *testing.T) {
	certificate, authority := searchtest.Issue(t)
	ca := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority})))
	server, err := miniredis.RunTLS(&tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.RequireAuth("secret")
	password := file(t, "secret")
	for title, tc := range map[string]struct {
		address Address
		says    string
	}{
		"its authority is known":  {Address{TLS: true, CAFile: ca, PasswordFile: password}, ""},
		"its authority is not":    {Address{TLS: true, PasswordFile: password}, "certificate"},
		"the file has none":       {Address{TLS: true, CAFile: password, PasswordFile: password}, "holds no certificate"},
		"the file is empty":       {Address{TLS: true, CAFile: file(t, ""), PasswordFile: password}, "holds no certificate"},
		"there is no such file":   {Address{TLS: true, CAFile: "/does/not/exist", PasswordFile: password}, "no such file"},
		"without TLS":             {Address{PasswordFile: password}, "EOF"},
		"a wrong password":        {Address{TLS: true, CAFile: ca, PasswordFile: file(t, "other")}, "WRONGPASS"},
		"no password":             {Address{TLS: true, CAFile: ca}, "NOAUTH"},
		"no such password's file": {Address{TLS: true, CAFile: ca, PasswordFile: "/does/not/exist"}, "no such file"},
	} {
		t.Run(title, func(t *testing.T) {
			tc.address.HostPort = server.Addr()
			err := NewRedis(tc.address).Set(t.Context(), "key", "channel", nil, time.Hour)
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}
