package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-io/towline/pkg/steer"
)

// verbOptions are the options of the commands that write.
type verbOptions struct {
	*options

	request  steer.Request
	selector string
	cluster  string // only for pause and resume
	set      string // only for pause and resume
	cascade  bool
	yes      bool
	dryRun   string
	wait     bool
	timeout  time.Duration
}

// verbHelp is the help of a verb.
type verbHelp struct {
	verb           steer.Verb
	use            string
	short, example string
	flags          func(o *verbOptions, fs *pflag.FlagSet)
}

// verbHelps are the help texts of all verbs.
var verbHelps = []verbHelp{
	{verb: steer.Sync, use: "sync APPLICATION...", short: "Ask the cluster's Argo CD to sync Applications",
		example: "kubectl towline sync -n argocd guestbook --prune --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.StringVar(&o.request.Revision, "revision", "", "sync to this revision instead of the revision in the source")
			fs.BoolVar(&o.request.Prune, "prune", false, "delete resources that are no longer in Git")
			fs.BoolVar(&o.request.Preview, "preview", false, "only preview the sync and change nothing on the cluster (Argo CD's own dry run)")
			fs.BoolVar(&o.request.Apply, "apply-only", false, "run no hooks (Argo CD's strategy apply)")
		}},
	{verb: steer.Refresh, use: "refresh APPLICATION...", short: "Ask the cluster's Argo CD to compare Applications with Git again",
		example: "kubectl towline refresh -n argocd guestbook --hard --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.BoolVar(&o.request.Hard, "hard", false, "also render the manifests again, without the cache")
		}},
	{verb: steer.Stop, use: "stop APPLICATION...", short: "Terminate the running operation of Applications, or withdraw the waiting operation",
		example: "kubectl towline stop -n argocd guestbook --wait"},
	{verb: steer.Pause, use: "pause (APPLICATION... | --applicationset NAME | --cluster NAME)",
		short:   "Pause Applications: Towline sends no changes to the clusters",
		example: "kubectl towline pause --cluster cluster7", flags: (*verbOptions).addPaused},
	{verb: steer.Resume, use: "resume (APPLICATION... | --applicationset NAME | --cluster NAME)", short: "Resume paused Applications",
		example: "kubectl towline resume --cluster cluster7", flags: (*verbOptions).addPaused},
	{verb: steer.Release, use: "release APPLICATION...",
		short:   "Release Applications: the Applications stay on the clusters without the management of Towline",
		example: "kubectl towline release -n argocd guestbook --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.BoolVar(&o.request.Undo, "undo", false, "undo the release: Towline manages the Applications again")
		}},
	{verb: steer.Adopt, use: "adopt APPLICATION...", short: "Take over existing Applications on the clusters",
		example: "kubectl towline adopt -n argocd guestbook --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.StringVar(&o.request.Policy, "policy", "always",
				"when to take over: always, matching (only if no field of a different writer would change) or never")
		}},
	{verb: steer.Move, use: "move APPLICATION... --to CLUSTER", short: "Move Applications to a new cluster",
		example: "kubectl towline move -n argocd guestbook --to cluster2 --wait",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.StringVar(&o.request.To, "to", "", "the ManagedCluster to move to")
			o.addYes(fs)
		}},
	{verb: steer.Delete, use: "delete APPLICATION...", short: "Delete Applications on the hub and on the clusters",
		example: "kubectl towline delete -n argocd guestbook --cascade=false",
		flags: func(o *verbOptions, fs *pflag.FlagSet) {
			fs.BoolVar(&o.cascade, "cascade", false,
				"true: also delete the deployed resources; false: keep the resources; default: the finalizers of the Application decide")
			fs.BoolVar(&o.request.Force, "force", false,
				"do not wait for the clusters; Applications and the deployed resources may remain on the clusters")
			o.addYes(fs)
		}},
}

// newVerbCommands returns the commands that write.
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
		fs.StringVarP(&v.selector, "selector", "l", "", "use the Applications of the namespace that have these labels, instead of names")
		v.addWriting(fs)
		out = append(out, cmd)
	}
	return out
}

// addWriting adds the flags of all commands that write.
func (o *verbOptions) addWriting(fs *pflag.FlagSet) {
	fs.StringVar(&o.dryRun, "dry-run", "none",
		"none, client (print what would be written) or server (the hub also checks it); client and server write nothing")
	fs.BoolVar(&o.wait, "wait", false, "wait until the effect is visible on the hub")
	fs.DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --wait: wait for at most this long")
}

// addYes adds the flag of all commands that ask for confirmation.
func (o *verbOptions) addYes(fs *pflag.FlagSet) {
	fs.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
}

func (o *verbOptions) addPaused(fs *pflag.FlagSet) {
	fs.StringVar(&o.cluster, "cluster", "", "all Applications of this ManagedCluster")
	fs.StringVar(&o.set, "applicationset", "", "all Applications of this ApplicationSet")
}
