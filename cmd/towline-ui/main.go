// Command towline-ui serves the status page in the hub, behind a proxy with user login. The program has no rights of
// its own.
//
// The status page is a separate program, because templates call methods by name. In the controller's binary, the
// linker would have to keep every method of the controller.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/towline-io/towline/pkg/ui"
	"github.com/towline-io/towline/pkg/ui/hub"
)

// clusterCA is the path where deploy/components/ui mounts the certificate authority of the API server.
const clusterCA = "/var/run/towline/ca/ca.crt"

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

// headerName matches a valid header name.
var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// options are the flags of the program.
type options struct {
	address, certDir string
	server, caFile   string
	argocdNamespace  string
	tokenHeader      string
}

func newOptions() *options {
	return &options{address: ":8080", server: "https://kubernetes.default.svc", caFile: clusterCA, tokenHeader: ui.TokenHeader}
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.address, "bind-address", o.address, "address at which the status page listens; the proxy in front of it connects there")
	fs.StringVar(&o.certDir, "cert-dir", o.certDir, "folder with tls.crt and tls.key for HTTPS; default: plain HTTP, for a proxy in the same pod")
	fs.StringVar(&o.server, "api-server", o.server, "address of the hub's API server")
	fs.StringVar(&o.caFile, "api-server-ca", o.caFile, "file with the certificate authority of the API server")
	fs.StringVar(&o.tokenHeader, "token-header", o.tokenHeader,
		"the only header in which tokens are accepted; the proxy must overwrite it, for example X-Forwarded-Access-Token")
	fs.StringVar(&o.argocdNamespace, "argocd-namespace", o.argocdNamespace,
		"namespace of the hub's Argo CD; default: the one that Towline's Deployment names, for users who may read the Deployment")
}

// validate returns all errors in the options.
func (o *options) validate() error {
	var errs []error
	if _, port, err := net.SplitHostPort(o.address); err != nil || port == "" {
		errs = append(errs, fmt.Errorf("--bind-address: %q is not an address like :8080", o.address))
	}
	if u, err := url.Parse(o.server); err != nil || u.Scheme != "https" || u.Host == "" {
		errs = append(errs, fmt.Errorf("--api-server: %q is not an address like https://kubernetes.default.svc: tokens go there", o.server))
	}
	if !headerName.MatchString(o.tokenHeader) {
		errs = append(errs, fmt.Errorf("--token-header: %q is not the name of a header like X-Forwarded-Access-Token", o.tokenHeader))
	}
	return errors.Join(errs...)
}

func main() {
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "towline-ui:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:           "towline-ui",
		Version:       version,
		SilenceErrors: true, // main prints the errors
		SilenceUsage:  true,
		Short:         "Serve the status page behind a proxy that signs users in",
		Long: "Serve the status page behind a proxy that signs users in. The program reads the hub with the bearer token that the proxy " +
			"passes on in the header of --token-header. So every user sees what they may read, and the program has no rights of its own.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// run serves the page until ctx ends.
func run(ctx context.Context, o *options) error {
	ctrl.SetLogger(zap.New())
	config := &rest.Config{
		Host: o.server, QPS: -1, UserAgent: "towline-ui/" + version, TLSClientConfig: rest.TLSClientConfig{CAFile: o.caFile},
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("--api-server-ca: %w", err)
	}
	if len(config.CAData) == 0 { // without a certificate, Go would trust the authorities of the system, but users' tokens go to the API server
		return fmt.Errorf("--api-server-ca: %q holds no certificate", o.caFile)
	}
	lc := net.ListenConfig{}
	listener, err := lc.Listen(ctx, "tcp", o.address)
	if err != nil {
		return fmt.Errorf("--bind-address: %w", err)
	}
	if o.certDir != "" {
		if listener, err = o.secured(listener); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.Handle("/", ui.Proxied(o.tokenHeader, ui.Handler(hub.NewTokens(ctx, config, hub.Flags{ArgoCDNamespace: o.argocdNamespace}))))
	ctrl.Log.Info("Starting", "version", version, "address", listener.Addr().String(), "apiServer", o.server)
	return ui.Serve(ctx, listener, mux)
}

// secured returns a TLS listener. It reads the certificate again for each connection, so a renewal needs no restart.
func (o *options) secured(listener net.Listener) (net.Listener, error) {
	read := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(filepath.Join(o.certDir, "tls.crt"), filepath.Join(o.certDir, "tls.key"))
		return &c, err
	}
	if _, err := read(nil); err != nil {
		return nil, fmt.Errorf("--cert-dir: %w", err)
	}
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: read}), nil
}
