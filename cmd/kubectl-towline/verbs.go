package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-io/towline/pkg/steer"
)

// verbOptions are those of the commands that change something.
type verbOptions struct {
	*options

	request  steer.Request
	selector string
	cluster  string // of pause and resume
	set      string // of pause and resume
	cascade  bool
	yes      bool
	dryRun   string
	wait     bool
	timeout  time.Duration
}

// verbHelp is what the help of a verb says.
type verbHelp struct {
	verb           steer.Verb
	use            string
	short, example string
	flags          func(o *verbOptions, fs *pflag.FlagSet)
}

// verbHelps are those of all verbs.
var verbHelps = []verbHelp{
	{verb: steer.Sync, use: "sync APPLICATION...", short: "Have the cluster's Argo CD sync Applications",
		example: "kubectl towline sync -n argocd guestbook --prune --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.StringVar(&o.request.Revision, "revision", "", "another revision than that of the source")
			fs.BoolVar(&o.request.Prune, "prune", false, "delete what is not in Git any more")
			fs.BoolVar(&o.request.Preview, "preview", false, "change nothing on the cluster: Argo CD's own dry run")
			fs.BoolVar(&o.request.Apply, "apply-only", false, "leave hooks out: Argo CD's strategy apply")
		}},
	{verb: steer.Refresh, use: "refresh APPLICATION...", short: "Have the cluster's Argo CD compare Applications with Git again",
		example: "kubectl towline refresh -n argocd guestbook --hard --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.BoolVar(&o.request.Hard, "hard", false, "render the manifests anew too")
		}},
	{verb: steer.Stop, use: "stop APPLICATION...", short: "Terminate the operation that runs, or withdraw the one that waits",
		example: "kubectl towline stop -n argocd guestbook --wait"},
	{verb: steer.Pause, use: "pause (APPLICATION... | --applicationset NAME | --cluster NAME)", short: "Write nothing for the clusters of Applications",
		example: "kubectl towline pause --cluster cluster7", flags: (*verbOptions).addPaused},
	{verb: steer.Resume, use: "resume (APPLICATION... | --applicationset NAME | --cluster NAME)", short: "End a pause",
		example: "kubectl towline resume --cluster cluster7", flags: (*verbOptions).addPaused},
	{verb: steer.Release, use: "release APPLICATION...", short: "Leave Applications and what they deployed on their clusters, without Towline",
		example: "kubectl towline release -n argocd guestbook --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.BoolVar(&o.request.Undo, "undo", false, "take the release back: Towline manages the Applications again")
		}},
	{verb: steer.Adopt, use: "adopt APPLICATION...", short: "Take over Applications that their clusters have already",
		example: "kubectl towline adopt -n argocd guestbook --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.StringVar(&o.request.Policy, "policy", "always", "always, matching (if nothing changes that others set there) or never")
		}},
	{verb: steer.Move, use: "move APPLICATION... --to CLUSTER", short: "Move Applications to another cluster",
		example: "kubectl towline move -n argocd guestbook --to cluster2 --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.StringVar(&o.request.To, "to", "", "the ManagedCluster to move to")
			o.addYes(fs)
		}},
	{verb: steer.Delete, use: "delete APPLICATION...", short: "Delete Applications on the hub and on their clusters",
		example: "kubectl towline delete -n argocd guestbook --cascade=false",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.BoolVar(&o.cascade, "cascade", false, "true: delete what they deployed too; false: leave it; default: as their finalizers say")
			fs.BoolVar(&o.request.Force, "force", false, "do not wait for the clusters: what they have may remain")
			o.addYes(fs)
		}},
}

// newVerbCommands are the commands that change something.
func newVerbCommands(o *options) []*cobra.Command {
	out := make([]*cobra.Command, 0, len(verbHelps))
	for _, h := range verbHelps {
		v := &verbOptions{options: o, request: steer.Request{Verb: h.verb, User: "kubectl-towline"}}
		cmd := &cobra.Command{Use: h.use, Short: h.short, Example: "  " + h.example}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("cascade") {
				v.request.Cascade = &v.cascade
			}
			return v.run(cmd.Context(), args)
		}
		fs := cmd.Flags()
		if h.flags != nil {
			h.flags(v, fs)
		}
		fs.StringVarP(&v.selector, "selector", "l", "", "the Applications of the namespace with these labels, in place of names")
		v.addWriting(fs)
		out = append(out, cmd)
	}
	return out
}

// addWriting adds the flags of everything that writes.
func (o *verbOptions) addWriting(fs *pflag.FlagSet) {
	fs.StringVar(&o.dryRun, "dry-run", "none", "client: print what would be written; server: let the hub check it too, and write nothing")
	fs.BoolVar(&o.wait, "wait", false, "wait until the hub shows the effect")
	fs.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait")
}

// addYes adds the flag of everything that asks.
func (o *verbOptions) addYes(fs *pflag.FlagSet) {
	fs.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

func (o *verbOptions) addPaused(fs *pflag.FlagSet) {
	fs.StringVar(&o.cluster, "cluster", "", "the ManagedCluster, for all Applications there")
	fs.StringVar(&o.set, "applicationset", "", "the ApplicationSet, for all of its Applications")
}
