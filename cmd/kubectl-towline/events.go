package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

// reporter selects the events of Towline's controllers.
var reporter = client.MatchingFields{"reportingComponent": "towline"}

// eventsOptions are the options of `kubectl towline events`.
type eventsOptions struct {
	scope

	watch bool
}

func newEventsCommand(o *options) *cobra.Command {
	e := &eventsOptions{scope: scope{options: o}}
	cmd := &cobra.Command{
		Use:   "events [APPLICATION | APPLICATIONSET]",
		Short: "Show the events of Towline",
		Long: "Show the events that Towline has recorded on Applications and on the objects of the Applications. The latest event comes last. For an " +
			"ApplicationSet, the command shows the events of the Applications and of the report. By default, the hub keeps events for an hour.",
		Example: "  kubectl towline events -A\n\n" +
			"  kubectl towline events -n argocd guestbook-app-set -w",
		Args:              cobra.MaximumNArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return e.run(cmd.Context(), args) },
		ValidArgsFunction: one(o.complete(applicationKind, applicationSetKind)),
	}
	e.addFlags(cmd)
	cmd.Flags().BoolVarP(&e.watch, "watch", "w", false, "keep running, and show new events as they come")
	return cmd
}

// saidEvent is an event in the form of the output.
type saidEvent struct {
	// Time is the time of the last occurrence. Count is the number of occurrences.
	Time  time.Time `json:"time"`
	Count int32     `json:"count"`

	// Type is Normal or Warning. Reason and Message are the text. Kind, Namespace and Name identify the object of the
	// event.
	Type      string `json:"type"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// id and version are the UID and resourceVersion of the event.
	id      types.UID
	version string
}

func (e *eventsOptions) run(ctx context.Context, args []string) error {
	h, namespace, err := e.begin()
	if err != nil {
		return err
	}
	if e.watch && e.output != "table" && e.output != "wide" {
		return fmt.Errorf("-w works only with lines: leave out --output %s, or -w", e.output)
	}
	about := func(*saidEvent) bool { return true }
	if len(args) > 0 {
		if e.all {
			return errors.New("-A is for the events of all Applications: name a namespace with -n")
		}
		if about, err = h.about(ctx, namespace, args[0]); err != nil {
			return err
		}
	}
	keep := func(s *saidEvent) bool { return about(s) && (!e.problems || s.Type == corev1.EventTypeWarning) }
	list, version, err := h.events(ctx, namespace, keep)
	if err != nil {
		return err
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = strings.ToLower(list[i].Kind) + "/" + list[i].Namespace + "/" + list[i].Name
	}
	if err := e.show(h, list, names, func() *table { return e.eventTable(list, true) }); err != nil || !e.watch {
		return err
	}
	return e.follow(ctx, h, namespace, version, newSeen(list), keep)
}

// about returns a filter for the events of an Application, or of an ApplicationSet's Applications and report.
func (h *hub) about(ctx context.Context, namespace, arg string) (func(*saidEvent) bool, error) {
	kind, key, err := h.named(ctx, namespace, arg)
	if err != nil {
		return nil, err
	}
	if kind == applicationKind {
		return func(s *saidEvent) bool { return s.Kind == argocd.Kind && s.Name == key.Name }, nil
	}
	names, err := h.namesOfSet(ctx, key)
	return func(s *saidEvent) bool {
		if s.Kind == argocd.Kind {
			return names[s.Name]
		}
		return s.Name == key.Name
	}, err
}

// namesOfSet returns the names of an ApplicationSet's Applications.
func (h *hub) namesOfSet(ctx context.Context, set types.NamespacedName) (map[string]bool, error) {
	out := map[string]bool{}
	return out, eachMetadata(ctx, h, applicationKind, func(m *metav1.PartialObjectMetadata) {
		if name, ok := (&argocd.Application{ObjectMeta: m.ObjectMeta}).ApplicationSet(); ok && name == set.Name {
			out[m.Name] = true
		}
	}, client.InNamespace(set.Namespace))
}

// events returns the events of Towline, the latest last, and the resource version for a following watch.
func (h *hub) events(ctx context.Context, namespace string, keep func(*saidEvent) bool) ([]saidEvent, string, error) {
	out, version := []saidEvent{}, ""
	err := pages(ctx, h, &corev1.EventList{}, pageSize, func(page *corev1.EventList) error {
		version = page.ResourceVersion
		for i := range page.Items {
			if s := saidOf(&page.Items[i]); keep(&s) {
				out = append(out, s)
			}
		}
		return nil
	}, client.InNamespace(namespace), reporter)
	slices.SortStableFunc(out, func(a, b saidEvent) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) })
	return out, version, err
}

// saidOf converts an event of either API. An event of the newer API has a series instead of a count.
func saidOf(e *corev1.Event) saidEvent {
	s := saidEvent{
		Time: e.LastTimestamp.Time, Count: max(e.Count, 1), Type: e.Type, Reason: e.Reason, Message: e.Message,
		Kind: e.InvolvedObject.Kind, Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name,
		id: e.UID, version: e.ResourceVersion,
	}
	if s.Time.IsZero() {
		s.Time = e.EventTime.Time
	}
	if e.Series != nil {
		s.Time, s.Count = e.Series.LastObservedTime.Time, max(e.Series.Count, 1)
	}
	return s
}

func (e *eventsOptions) eventTable(list []saidEvent, headline bool) *table {
	t := e.newTable()
	if headline {
		t = e.newTable("AGE", "REASON", "OBJECT", "MESSAGE")
	} else {
		t.lines, t.state = nil, nil
	}
	for i := range list {
		s := &list[i]
		state := why.OK
		if s.Type == corev1.EventTypeWarning {
			state = why.Blocked
		}
		since := age(&s.Time)
		if s.Count > 1 {
			since += fmt.Sprintf(" (%d times)", s.Count)
		}
		t.add(state, since, s.Reason, strings.ToLower(s.Kind)+"/"+s.Namespace+"/"+s.Name, s.Message)
	}
	return t
}
