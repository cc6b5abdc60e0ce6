package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// statusOptions are the options of `kubectl towline status`.
type statusOptions struct {
	*options

	watch    bool
	all      bool
	problems bool
	timeout  time.Duration
	revision string
}

func newStatusCommand(o *options) *cobra.Command {
	s := &statusOptions{options: o}
	cmd := &cobra.Command{
		Use:   "status APPLICATIONSET",
		Short: "Show the state of an ApplicationSet on the clusters",
		Long: "Show the state of an ApplicationSet on the clusters: the Applications (Applications with problems come first), the steps of a " +
			"rollout, and a summary.\n\n" +
			"The command reads the report of the ApplicationSet. Without a report, the command reads the Applications. With -w, the command follows the " +
			"ApplicationSet until all Applications are synced and healthy and a rollout in steps is done. Exit codes: 0 all Applications are synced " +
			"and healthy, 2 a user has to act, 3 a change is in progress.",
		Example: "  kubectl towline status -n argocd guestbook-app-set\n\n" +
			"  # In a pipeline: wait until every cluster has the commit. Without --revision, the command may end before the rollout begins\n" +
			"  kubectl towline status -n argocd guestbook-app-set -w --timeout 10m --revision \"$(git rev-parse HEAD)\"",
		Args:              oneName("an ApplicationSet"),
		RunE:              func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args[0]) },
		ValidArgsFunction: one(o.complete(applicationSetKind)),
	}
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "follow the ApplicationSet until all Applications are synced and healthy")
	cmd.Flags().DurationVar(&s.timeout, "timeout", 0, "with -w: follow for at most this long; 0: no limit")
	cmd.Flags().StringVar(&s.revision, "revision", "",
		"expect every Application at this revision; for a commit, the first 7 characters or more")
	cmd.Flags().BoolVar(&s.all, "all", false, "list also the Applications that did not fit into the report")
	cmd.Flags().BoolVar(&s.problems, "problems", false, "show only Applications that are blocked or waiting")
	return cmd
}

func (o *statusOptions) run(ctx context.Context, arg string) error {
	kind, name, err := splitName(arg)
	switch {
	case err != nil:
		return err
	case kind == applicationKind:
		return fmt.Errorf("status shows an ApplicationSet: for a single Application, use kubectl towline why %s", name)
	case o.watch && o.output != "table" && o.output != "wide":
		return fmt.Errorf("-w works only with a table: leave out --output %s, or -w", o.output)
	}
	namespace, err := o.namespace()
	if err != nil {
		return err
	}
	h, err := o.connect()
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	set, source, err := h.status(ctx, h, key, o.all || o.revision != "") // Applications omitted from a report have a revision too
	if err != nil {
		return err
	}
	if o.expect(set); o.revision != "" && source.cut {
		source.report = false
	}
	if o.watch {
		return o.follow(ctx, h, key, source, set)
	}
	if err := o.printStatus(h, set); err != nil {
		return err
	}
	return result(set.State)
}

// expect makes an ApplicationSet wait for the requested revision.
func (o *statusOptions) expect(s *view.Set) {
	if o.revision != "" {
		s.Expect(o.revision)
	}
}

// result returns the result of a command as an error with an exit code.
func result(s why.State) error {
	if s == why.OK || s == "" {
		return nil
	}
	return found(s)
}

// source tells from which objects the status of an ApplicationSet comes.
type source struct {
	// report is set if the report gives the state; otherwise the Applications do. steps is set if the user may read
	// the ApplicationSet with the steps of a rollout.
	report, steps bool

	// there is set if the ApplicationSet existed. If the ApplicationSet is missing later, a user has deleted it.
	there bool

	// cut is set if the report has no room for all Applications.
	cut bool
}

// status reads the state of an ApplicationSet, and returns the source of the state.
func (h *hub) status(ctx context.Context, c client.Reader, key types.NamespacedName, all bool) (*view.Set, source, error) {
	object, err := reading.Get(ctx, c, key, newApplicationSet())
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, source{}, err
	}
	from := source{steps: err == nil, there: object != nil}
	report, err := reading.Get(ctx, c, key, &v1alpha1.MulticlusterApplicationSetReport{})
	if err != nil && !unserved(err) {
		return nil, from, err
	}
	from.report = err == nil && report != nil
	from.cut = from.report && view.SetOfReport(report).Omitted > 0
	set, err := setOf(ctx, c, key, report, all)
	switch {
	case err != nil:
		return nil, from, err
	case object == nil && report == nil && len(set.Rows) == 0 && from.steps:
		return nil, from, fmt.Errorf("ApplicationSet %s does not exist", key)
	}
	if object != nil {
		set.RollOut(object.steps())
	}
	return set, from, nil
}

// setOf returns the state of an ApplicationSet from the report, or from the Applications.
func setOf(
	ctx context.Context, c client.Reader, key types.NamespacedName, report *v1alpha1.MulticlusterApplicationSetReport, all bool,
) (*view.Set, error) {
	if report != nil {
		if s := view.SetOfReport(report); s.Omitted == 0 || !all {
			return s, nil
		}
	}
	list, err := rowsOfSet(ctx, c, key)
	return view.SetOfApplications(key.Namespace, key.Name, list), err
}

// printStatus prints the whole state of an ApplicationSet.
func (o *statusOptions) printStatus(h *hub, s *view.Set) error {
	if o.problems {
		s.Rows = view.Problems(s.Rows)
	}
	if done, err := o.printed(s, "applicationset.argoproj.io/"+s.Namespace+"/"+s.Name); done || err != nil {
		return err
	}
	p := &printer{to: o.Out}
	o.printSet(p, s, 0)
	if p.err != nil {
		return p.err
	}
	return o.printUnread(h)
}

// printSet prints an ApplicationSet, with at most room lines of Applications; 0 for all.
func (o *statusOptions) printSet(p *printer, s *view.Set, room int) {
	p.line("ApplicationSet %s/%s", s.Namespace, s.Name)
	p.line("")
	if len(s.Waves) > 0 {
		t := o.newTable("STEP", "APPLICATIONS", "HEALTHY", "PROGRESSING", "PENDING", "WAITING")
		for _, w := range s.Waves {
			t.add(waveState(w), fmt.Sprint(w.Step), fmt.Sprint(w.Applications), fmt.Sprint(w.Healthy), fmt.Sprint(w.Progressing),
				fmt.Sprint(w.Pending), fmt.Sprint(w.Waiting))
		}
		t.write(p, 0)
		p.line("")
	}
	if len(s.Rows) > 0 {
		o.rowTable(s.Rows, false).write(p, room)
	}
	if s.Omitted > 0 {
		p.line("  %d more, those that need the least attention, are not in the report: --all lists them", s.Omitted)
	}
	p.line("")
	p.line("%s %s", o.glyph(s.State), summary(s))
}

// waveState returns the state of a step.
func waveState(w view.Wave) why.State {
	switch {
	case w.Healthy == w.Applications:
		return why.OK
	case w.Waiting == w.Applications:
		return why.Later
	}
	return why.Waiting
}

// summary returns the summary of an ApplicationSet in a line.
func summary(s *view.Set) string {
	parts := []string{fmt.Sprintf("%d Applications: %d synced", s.Applications, s.Synced), fmt.Sprintf("%d healthy", s.Healthy)}
	for _, part := range []struct {
		n    int
		text string
	}{
		{s.Counts.Blocked, "stopped"}, {s.Counts.Waiting, "under way"}, {s.Unreachable, "on clusters that are not available"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	return strings.Join(parts, ", ")
}
