package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/pkg/ui"
	uihub "github.com/towline-io/towline/pkg/ui/hub"
)

// dashboardOptions are the options of `kubectl towline dashboard`.
type dashboardOptions struct {
	*options

	port uint16
}

func newDashboardCommand(o *options) *cobra.Command {
	d := &dashboardOptions{options: o}
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve the status page on this machine",
		Long: "Serve the status page on this machine until you interrupt the command. The page reads the hub with your kubeconfig.\n\n" +
			"The printed address works once: the browser then gets a cookie. Therefore no further user of the machine can open the page. The page " +
			"has no actions.",
		Example: "  kubectl towline dashboard\n\n  # If you may not list the Applications of all namespaces, name one\n" +
			"  kubectl towline dashboard -n team-a",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().Uint16Var(&d.port, "port", 0, "port on 127.0.0.1; default: any free port")
	return cmd
}

func (d *dashboardOptions) run(ctx context.Context) error {
	config, err := d.config.ToRESTConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 50, 100
	source, err := uihub.NewOne(ctx, config, uihub.Flags{ArgoCDNamespace: d.towline.ArgoCDNamespace})
	if err != nil {
		return err
	}
	lc := net.ListenConfig{}
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(d.port))))
	if err != nil {
		return fmt.Errorf("--port: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	host := net.JoinHostPort("127.0.0.1", port)
	guard := ui.NewLocal(host, net.JoinHostPort("localhost", port))
	query := url.Values{"token": {guard.Token()}}
	if n := *d.config.Namespace; n != "" {
		query.Set("namespace", n)
	}
	address := url.URL{Scheme: "http", Host: host, Path: "/", RawQuery: query.Encode()}
	_, err = fmt.Fprintf(d.Out, "The status page is at\n\n  %s\n\nThis address works once. Stop with Ctrl-C.\n", address.String())
	if err != nil {
		return err
	}
	return ui.Serve(ctx, listener, guard.Guard(ui.Handler(source)))
}
