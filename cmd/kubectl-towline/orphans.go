package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/retry"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/steer"
	"github.com/towline-io/towline/pkg/why"
)

// orphansOptions are the options of `kubectl towline orphans`.
type orphansOptions struct {
	verbOptions
}

func newOrphansCommand(o *options) *cobra.Command {
	list := &orphansOptions{verbOptions: verbOptions{options: o}}
	cmd := &cobra.Command{
		Use:   "orphans",
		Short: "List lost Applications: gone from the hub, but still on the clusters",
		Long: "List lost Applications, and decide about lost Applications. A lost Application is gone from the hub, for example after a restore, " +
			"but still on the cluster.\n\n" +
			"Towline keeps the ManifestWorks of lost Applications until the Applications are on the hub again, or until a user decides.",
		Example: "  kubectl towline orphans\n  kubectl towline orphans adopt --cluster cluster1\n  kubectl towline orphans delete cluster1/guestbook-1a2b3",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return list.list(cmd.Context()) },
	}
	list.addOrphans(cmd.Flags())
	for verb, short := range map[steer.Verb]string{
		steer.Adopt:  "Release lost Applications: the clusters keep the Applications and the deployed resources",
		steer.Delete: "Remove lost Applications from the clusters; the deployed resources stay on the clusters",
	} {
		v := &orphansOptions{verbOptions: verbOptions{options: o, request: steer.Request{Verb: verb}}}
		sub := &cobra.Command{
			Use: string(verb) + " [CLUSTER/WORK...]", Short: short,
			RunE: func(cmd *cobra.Command, args []string) error { return v.decide(cmd.Context(), args) },
		}
		v.addOrphans(sub.Flags())
		v.addYes(sub.Flags())
		v.addWriting(sub.Flags())
		cmd.AddCommand(sub)
	}
	return cmd
}

func (o *orphansOptions) addOrphans(fs *pflag.FlagSet) {
	fs.StringVar(&o.cluster, "cluster", "", "only lost Applications of the ManagedCluster")
	fs.StringVarP(&o.selector, "selector", "l", "", "only lost Applications with these labels on the ManifestWorks")
}

// count returns a number with a noun.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// orphans returns the sorted works of Applications that the hub has lost.
func (o *orphansOptions) orphans(ctx context.Context, h *hub) ([]workv1.ManifestWork, error) {
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	pulled, err := labels.NewRequirement(apis.LabelPull, "=", []string{"true"})
	if err != nil {
		return nil, err
	}
	var out []workv1.ManifestWork
	err = pages(ctx, h, &workv1.ManifestWorkList{}, pageSize, func(page *workv1.ManifestWorkList) error {
		for i := range page.Items {
			if steer.OrphanOf(&page.Items[i]) != nil {
				out = append(out, page.Items[i])
			}
		}
		return nil
	}, client.InNamespace(o.cluster), client.MatchingLabelsSelector{Selector: selector.Add(*pulled)})
	slices.SortFunc(out, func(a, b workv1.ManifestWork) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, err
}

func (o *orphansOptions) list(ctx context.Context) error {
	h, err := o.connect()
	if err != nil {
		return err
	}
	works, err := o.orphans(ctx, h)
	if err != nil {
		return err
	}
	list, names := make([]*steer.Orphan, len(works)), make([]string, len(works))
	for i := range works {
		list[i], names[i] = steer.OrphanOf(&works[i]), works[i].Namespace+"/"+works[i].Name
	}
	done, err := o.printed(list, strings.Join(names, "\n"))
	if !done && err == nil {
		err = o.printOrphans(list, time.Now())
	}
	if err != nil || len(list) == 0 {
		return err
	}
	return found(why.Blocked)
}

func (o *orphansOptions) printOrphans(list []*steer.Orphan, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(o.Out, "The hub has lost no Application.")
		return err
	}
	w := tabwriter.NewWriter(o.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "CLUSTER\tWORK\tAPPLICATION\tAPPLICATIONSET\tSINCE\tDECIDED")
	for _, k := range list {
		since := "?"
		if !k.Since.IsZero() {
			since = duration.HumanDuration(now.Sub(k.Since))
		}
		decided := cmp.Or(k.Decided, "-")
		if k.UnderWay {
			decided = "under way"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.Cluster, k.Work, plain(k.Application), cmp.Or(plain(k.Set), "-"), since, plain(decided))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(o.Out, "\nCreate the Applications again, as ApplicationSets do, and they "+
		"take over the Applications on the clusters. Or decide:\n"+
		"  kubectl towline orphans adopt     the clusters keep the Applications and the workloads\n"+
		"  kubectl towline orphans delete    the clusters lose the Applications and keep the workloads\n")
	return err
}

// chosen returns the works to decide about: the named works, or all undecided works. It prints the number of skipped
// works.
func (o *orphansOptions) chosen(ctx context.Context, h *hub, names []string) ([]types.NamespacedName, error) {
	var out []types.NamespacedName
	for _, name := range names {
		cluster, work, ok := strings.Cut(name, "/")
		if !ok || cluster == "" || work == "" {
			return nil, fmt.Errorf("%q names no ManifestWork: write CLUSTER/WORK, as in the list of kubectl towline orphans", name)
		}
		out = append(out, types.NamespacedName{Namespace: cluster, Name: work})
	}
	if len(names) > 0 {
		return out, nil
	}
	works, err := o.orphans(ctx, h)
	for i := range works {
		if steer.OrphanOf(&works[i]).Decided == "" {
			out = append(out, client.ObjectKeyFromObject(&works[i]))
		}
	}
	if left := len(works) - len(out); left > 0 {
		fmt.Fprintf(o.ErrOut, "%s left as decided: name a ManifestWork to decide anew\n", count(left, "lost Application"))
	}
	return out, err
}

func (o *orphansOptions) decide(ctx context.Context, names []string) error {
	switch {
	case len(names) > 0 && (o.selector != "" || o.cluster != ""):
		return fmt.Errorf("name ManifestWorks or select them, and not both")
	case !slices.Contains(dryRuns, o.dryRun):
		return fmt.Errorf("--dry-run: %q is not one of none, client, server", o.dryRun)
	}
	h, err := o.connect()
	if err != nil {
		return err
	}
	keys, err := o.chosen(ctx, h, names)
	if err != nil {
		return err
	}
	if len(keys) > 0 && !o.yes && o.dryRun == "none" {
		if err := o.confirm(ctx, fmt.Sprintf("%s: %s", count(len(keys), "lost Application"), decisions[o.request.Verb])); err != nil {
			return err
		}
	}
	return o.decideEach(ctx, h, keys, len(names) > 0)
}

// decisions describe the fate of lost Applications.
var decisions = map[steer.Verb]string{
	steer.Adopt:  "the clusters keep the Applications, and Towline stops managing them",
	steer.Delete: "the clusters lose the Applications and keep the workloads",
}

func (o *orphansOptions) decideEach(ctx context.Context, h *hub, keys []types.NamespacedName, named bool) error {
	steps := make([]func() (outcome, waiting), len(keys))
	for i, key := range keys {
		steps[i] = func() (outcome, waiting) {
			r := o.decideOne(ctx, h, key, named)
			if o.wait && r.State == why.OK && r.DryRun == "" && r.Patch != nil {
				return r, func(end time.Time) outcome { return o.awaitEnd(ctx, h, key, r, end) }
			}
			return r, nil
		}
	}
	return o.sideBySide(ctx, steps)
}

func (o *orphansOptions) decideOne(ctx context.Context, h *hub, key types.NamespacedName, named bool) outcome {
	object := "manifestworks.work.open-cluster-management.io/" + key.String()
	var c *steer.Change
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		w := &workv1.ManifestWork{}
		if err := h.Get(ctx, key, w); err != nil {
			return noSuch(object, err)
		}
		var refused *steer.Refusal
		if c, refused = steer.Decide(w, o.request.Verb, named); refused != nil {
			return refused
		}
		_, err := o.write(ctx, h, w, c)
		return err
	})
	if err != nil {
		return failed(object, err)
	}
	return o.wrote(outcome{Object: object, State: why.OK, Message: c.Message, Patch: c.Patch})
}

// awaitEnd waits for the end of a work.
func (o *orphansOptions) awaitEnd(ctx context.Context, h *hub, key types.NamespacedName, r outcome, end time.Time) outcome {
	fmt.Fprintf(o.ErrOut, "%s: waiting for the ManifestWork to go\n", key)
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	for { // as in await, read without a deadline: near a deadline, the client's rate limiter would refuse the request
		w, err := reading.Get(ctx, h, key, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
			APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork",
		}})
		switch {
		case err != nil:
			return failed(r.Object, err)
		case w == nil:
			return r
		case waiting.Err() != nil:
			r.State, r.Message = why.Waiting, r.Message+": not over after "+o.timeout.String()
			return r
		}
		if err := h.changed(waiting, &workv1.ManifestWorkList{}, w, w.ResourceVersion); err != nil && waiting.Err() == nil {
			return failed(r.Object, err)
		}
	}
}
