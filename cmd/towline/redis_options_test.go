package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/argocache"
)

func TestRedisFolder(t *testing.T) {
	for title, tc := range map[string]struct {
		files map[string]string
		want  argocache.Address // the paths of the files are without the folder
		says  string
	}{
		"an address": {files: map[string]string{"address": "redis:6379\n"}, want: argocache.Address{HostPort: "redis:6379"}},
		"redis://":   {files: map[string]string{"address": "redis://redis:6379"}, want: argocache.Address{HostPort: "redis:6379"}},
		"rediss://":  {files: map[string]string{"address": "rediss://redis:6380"}, want: argocache.Address{HostPort: "redis:6380", TLS: true}},
		"all files": {
			files: map[string]string{"address": "rediss://r:1", "password": "p", "ca.crt": "c", "compression": "none"},
			want:  argocache.Address{HostPort: "r:1", TLS: true, PasswordFile: "password", CAFile: "ca.crt", Plain: true},
		},
		"gzip":             {files: map[string]string{"address": "r:1", "compression": "gzip"}, want: argocache.Address{HostPort: "r:1"}},
		"no address":       {files: map[string]string{"password": "p"}, says: "address: no such file"},
		"an empty address": {files: map[string]string{"address": "\n"}, says: "address is empty"},
		"no port":          {files: map[string]string{"address": "redis"}, says: `"redis" is not redis://host:port`},
		"no host":          {files: map[string]string{"address": "redis://:6379"}, says: "is not redis://host:port"},
		"another scheme":   {files: map[string]string{"address": "https://redis:6379"}, says: "is not redis://host:port"},
		"a database":       {files: map[string]string{"address": "redis://redis:6379/1"}, says: "is not redis://host:port"},
		"an unused ca.crt": {files: map[string]string{"address": "redis:6379", "ca.crt": "c"}, says: "ca.crt: of use only with a rediss:// address"},
		"a compression":    {files: map[string]string{"address": "redis:6379", "compression": "zip"}, says: `"zip" is not gzip or none`},
		"no compression":   {files: map[string]string{"address": "redis:6379", "compression": ""}, says: "compression is empty"},
	} {
		t.Run(title, func(t *testing.T) {
			o := parse(t, "--argocd-redis="+folder(t, tc.files))
			err := o.validate()
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "--argocd-redis: ") {
					t.Errorf("got %v, want %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := controllerOptions(o).Redis
			for _, file := range []*string{&got.PasswordFile, &got.CAFile} {
				if *file != "" {
					*file = filepath.Base(*file)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
