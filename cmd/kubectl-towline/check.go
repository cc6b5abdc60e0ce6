package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/why"
)

// checkOptions are the options of `kubectl towline check`.
type checkOptions struct {
	*options

	pre, takeover     bool
	clusterKubeconfig string
	workAgent         string
	clusterNamespace  string
}

func newCheckCommand(o *options) *cobra.Command {
	c := &checkOptions{options: o, workAgent: "system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa"}
	cmd := &cobra.Command{
		Use: "check", Short: "Check an installation, a hub before the installation, or a managed cluster", Args: cobra.NoArgs,
		Example: "  kubectl towline check --pre\n  kubectl towline check\n  kubectl towline check --takeover\n" +
			"  kubectl towline check --cluster-kubeconfig cluster7.kubeconfig",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.pre, "pre", false, "check a hub before you install Towline on it")
	fs.BoolVar(&c.takeover, "takeover", false,
		"show what Towline would do with the Applications of the hub when it takes over from an older controller")
	fs.StringVar(&c.clusterKubeconfig, "cluster-kubeconfig", "", "check the managed cluster of this kubeconfig")
	fs.StringVar(&c.clusterNamespace, "cluster-argocd-namespace", apis.DefaultArgoCDNamespace, "namespace of Argo CD on that cluster")
	fs.StringVar(&c.workAgent, "work-agent", c.workAgent, "user name of the work agent on that cluster")
	cmd.MarkFlagsMutuallyExclusive("pre", "takeover", "cluster-kubeconfig")
	return cmd
}

func (o *checkOptions) run(ctx context.Context) error {
	lines, err := o.lines(ctx)
	if err != nil {
		return err
	}
	return o.conclude(lines)
}

// conclude prints the lines, and returns the overall result.
func (o *options) conclude(lines []check.Line) error {
	if err := o.printLines(lines); err != nil {
		return err
	}
	if v := check.Verdict(lines); v == why.Blocked || v == why.Unknown {
		return found(v)
	}
	return nil // a hub with limited features is good enough
}

// lines returns the results of the checks.
func (o *checkOptions) lines(ctx context.Context) ([]check.Line, error) {
	if o.takeover {
		return o.takeoverLines(ctx)
	}
	config, err := o.checked()
	if err != nil {
		return nil, err
	}
	r, err := newFactReader(config)
	if err != nil {
		return nil, err
	}
	r.facts.Plugin = version
	if o.clusterKubeconfig != "" {
		err = r.cluster(ctx, o.clusterNamespace, o.workAgent)
		return check.Managed(r.facts), err
	}
	if err := r.hub(ctx, &o.towline); err != nil {
		return nil, err
	}
	if o.pre {
		err = r.mayInstall(ctx)
		return check.Before(r.facts), err
	}
	return check.Installation(r.facts), nil
}

// checked returns the connection to the checked cluster.
func (o *checkOptions) checked() (*rest.Config, error) {
	flags := o.config
	if o.clusterKubeconfig != "" {
		flags = genericclioptions.NewConfigFlags(true)
		flags.KubeConfig = &o.clusterKubeconfig
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100
	if config.Timeout == 0 {
		config.Timeout = 30 * time.Second
	}
	return config, nil
}

func (o *options) printLines(lines []check.Line) error {
	var wrong []string
	for _, l := range lines {
		if l.State == why.Blocked {
			wrong = append(wrong, l.Name)
		}
	}
	if done, err := o.printed(lines, strings.Join(wrong, "\n")); done || err != nil {
		return err
	}
	p := &printer{to: o.Out}
	for _, l := range lines {
		p.line("%s %-24s %s", o.glyph(l.State), plain(l.Name), plain(l.Message))
		p.detail("do", l.Do)
	}
	p.line("")
	p.line("%s", checkVerdicts[check.Verdict(lines)])
	return p.err
}

// checkVerdicts are the final sentences of a check.
var checkVerdicts = map[why.State]string{
	why.OK: "All is well.", why.Waiting: "Towline works, with the limits of the lines marked ….", why.Blocked: "Some things are wrong: ✗.",
	why.Unknown: fmt.Sprintf("What may be read shows nothing wrong, and %s could not be read.", glyphs[why.Unknown]),
}
