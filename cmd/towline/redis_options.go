package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/towline-io/towline/pkg/argocache"
)

// redisOptions are the flags about the hub's Argo CD and its Redis.
type redisOptions struct {
	folder string
	redis  argocache.Address
	live   bool
}

// The files in the folder of --argocd-redis: the keys of a mounted Secret.
const (
	redisAddressFile     = "address"
	redisPasswordFile    = "password"
	redisCAFile          = "ca.crt"
	redisCompressionFile = "compression"
)

// The schemes of the address in redisAddressFile, as in Redis clients.
const (
	redisScheme    = "redis://"
	redisTLSScheme = "rediss://"
)

func (o *redisOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.folder, "argocd-redis", o.folder,
		"folder with the address of the Redis of the hub's Argo CD, for the resources of Applications from Towline; files of the folder, for "+
			"example the keys of a Secret: address (redis://host:port, or rediss://host:port for TLS), password, ca.crt (default: the authorities of the "+
			"system), compression (gzip or none, the same as Argo CD's own --redis-compress; default: gzip); "+
			"default: the Redis in Argo CD's own objects")
	fs.BoolVar(&o.live, "argocd-live-resources", o.live,
		"let users of argocd-server read live resources of Applications on the clusters, and change the resources within the rights of the user; "+
			"needs Argo CD 3.5, cluster.inClusterEnabled: \"false\" in argocd-cm, and a cluster Secret with credentials as the destination of the Application")
}

// validate reads the folder, and returns an error with the flag and the file.
func (o *redisOptions) validate() error {
	if o.folder == "" {
		return nil
	}
	if err := o.read(); err != nil {
		return fmt.Errorf("--argocd-redis: %w", err)
	}
	return nil
}

func (o *redisOptions) read() error {
	address, err := readSetting(o.folder, redisAddressFile)
	if err != nil {
		return err
	}
	hostPort, encrypted := strings.CutPrefix(address, redisTLSScheme)
	hostPort = strings.TrimPrefix(hostPort, redisScheme)
	if host, port, err := net.SplitHostPort(hostPort); err != nil || host == "" || port == "" || strings.ContainsAny(hostPort, "/@?#") {
		return fmt.Errorf("%s: %q is not redis://host:port or rediss://host:port", filepath.Join(o.folder, redisAddressFile), address)
	}
	o.redis = argocache.Address{HostPort: hostPort, TLS: encrypted, PasswordFile: existing(o.folder, redisPasswordFile)}
	if o.redis.CAFile = existing(o.folder, redisCAFile); o.redis.CAFile != "" && !encrypted {
		return fmt.Errorf("%s: of use only with a rediss:// address", o.redis.CAFile)
	}
	if existing(o.folder, redisCompressionFile) == "" {
		return nil
	}
	switch compression, err := readSetting(o.folder, redisCompressionFile); {
	case err != nil:
		return err
	case compression != "gzip" && compression != "none":
		return fmt.Errorf("%s: %q is not gzip or none", filepath.Join(o.folder, redisCompressionFile), compression)
	default:
		o.redis.Plain = compression == "none"
		return nil
	}
}

// readSetting returns the text of a file in a folder, without the space around the text. An empty file is an error.
func readSetting(folder, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", errors.New(filepath.Join(folder, name) + " is empty")
	}
	return text, nil
}

// existing returns the path of a file in a folder; empty if the folder has no such file.
func existing(folder, name string) string {
	path := filepath.Join(folder, name)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	return path
}
