package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// links is the usual number of links. The list of a fleet needs the path of every Application.
const links = 8

// Of returns the path of an Application, from the known facts.
func Of(f *Facts) *Diagnosis {
	l := &Diagnosis{Cluster: f.Cluster, Unread: f.Unread, Links: make([]Link, 0, links)}
	if f.App != nil {
		l.Application = f.App.Namespace + "/" + f.App.Name
		if l.Cluster == "" {
			l.Cluster = f.App.Cluster()
		}
	}
	if f.Set != nil {
		l.Set = f.Set.Namespace + "/" + f.Set.Name
		f.set(l)
	}
	if f.App == nil {
		return l
	}
	l.Differences = f.differences()
	f.decision(l)
	if !f.stopped(l) {
		f.work(l)
		f.agent(l)
		f.argoCD(l)
		f.resources(l)
	}
	return l
}

// set adds the links from the ApplicationSet to its Application.
func (f *Facts) set(l *Diagnosis) {
	s := f.Set
	show := fmt.Sprintf("kubectl -n %s get applicationsets.argoproj.io %s -o yaml", s.Namespace, s.Name)
	k := Link{Name: LinkSet, State: OK, Message: fmt.Sprintf("%s has %s", l.Set, count(s.Applications, "Application"))}
	failed := meta.FindStatusCondition(s.Conditions, "ErrorOccurred")
	switch {
	case s.Missing:
		k = Link{Name: LinkSet, State: Blocked, Message: "ApplicationSet " + l.Set + " does not exist", Who: "its author"}
	case failed != nil && failed.Status == metav1.ConditionTrue:
		k = Link{Name: LinkSet, State: Blocked, Message: failed.Message, Reason: failed.Reason, Since: &failed.LastTransitionTime.Time,
			Who: "its author", Do: show}
	}
	l.add(k)
	if f.App != nil {
		return // the ApplicationSet has created the Application, even if its Placement has changed
	}
	f.placements(l)
	switch s.Secret {
	case SecretFound:
		l.add(Link{Name: LinkSecret, State: OK, Message: "Argo CD knows " + l.Cluster})
	case SecretUnread:
		l.add(Link{Name: LinkSecret, State: Unknown, Message: "Secrets may not be read"})
	case SecretMissing:
		l.add(Link{Name: LinkSecret, State: Blocked, Who: "an administrator of the hub", Do: "kubectl get gitopsclusters -A",
			Message: fmt.Sprintf("namespace %s has no cluster Secret for %s, required by the generator: a GitOpsCluster creates the Secret",
				s.Namespace, l.Cluster)})
	}
	l.add(Link{Name: LinkKeys, State: Blocked, Who: "the author of the ApplicationSet", Do: show,
		Message: fmt.Sprintf("%s has created no Application for %s: check the generators, and the annotation %s of the template",
			l.Set, l.Cluster, apis.AnnotationCluster)})
}

func (f *Facts) placements(l *Diagnosis) {
	for _, p := range f.Set.Placements {
		k := Link{Name: LinkPlacement, State: OK, Message: fmt.Sprintf("%s has chosen %s", p.Name, l.Cluster)}
		do := fmt.Sprintf("kubectl -n %s describe placement %s", f.Set.Namespace, p.Name)
		switch {
		case p.Missing:
			k = Link{Name: LinkPlacement, State: Blocked, Who: "the author of the ApplicationSet", Do: do,
				Message: fmt.Sprintf("Placement %s/%s has no PlacementDecision: create it, or correct the generator", f.Set.Namespace, p.Name)}
		case !p.Chosen:
			k = Link{Name: LinkPlacement, State: Blocked, Who: "who owns the Placement", Do: do,
				Message: fmt.Sprintf("Placement %s/%s has chosen %s, and not %s", f.Set.Namespace, p.Name, count(p.Clusters, "cluster"), l.Cluster)}
		}
		l.add(k)
	}
}

// decision adds the links that Towline decides: from the plan, or without a plan from the conditions on the
// Application.
func (f *Facts) decision(l *Diagnosis) {
	said := f.told()
	for _, k := range []Link{
		{Name: LinkKeys, State: OK, Message: l.Application + " names " + l.Cluster},
		{Name: LinkRights, State: OK, Message: "Towline may send the Application to the cluster"},
		{Name: LinkTarget, State: OK, Message: "nothing blocks the target"},
		{Name: LinkDependencies, State: OK, Message: "no problem with the dependencies"},
	} {
		if f.Plan == nil && (k.Name == LinkRights || k.Name == LinkTarget) {
			k.State, k.Message = Unknown, "the conditions of the Application show no obstacle"
		}
		if i := slices.IndexFunc(said, func(s Link) bool { return s.Name == k.Name }); i >= 0 {
			k = said[i]
		}
		l.add(k)
	}
}

// told returns the links with a message from Towline: from the plan, and from the Application if the plan has no
// problem. Towline discovers some problems only when it writes the work, for example an oversized work.
func (f *Facts) told() []Link {
	var out []Link
	if !f.App.Pulled() && f.App.Labels[apis.LabelPull] == "" {
		out = append(out, f.link(delivery.Condition{Type: apis.ConditionPropagationError, Reason: reasonNoLabel,
			Message: "the Application has no label " + apis.LabelPull}))
	}
	decided := f.Plan != nil && len(f.Plan.Conditions) > 0
	if decided {
		for _, c := range f.Plan.Conditions {
			out = append(out, f.link(c))
		}
	}
	for _, c := range f.App.Status.Conditions {
		k := f.link(delivery.Condition{Type: c.Type, Message: c.Message})
		switch owner := apis.ConditionRuleOf(c.Type).Owner; {
		case owner == apis.OwnerPlacement && f.App.Cluster() == "": // the condition explains the missing cluster
			out = slices.Insert(out, 0, k)
		case owner == apis.OwnerDependencies, !decided && owner == apis.OwnerPropagation && c.Type != apis.ConditionRefreshWarning:
			out = append(out, k)
		}
	}
	return out
}

// link returns the link for a condition, with the remedy of the reason.
func (f *Facts) link(c delivery.Condition) Link {
	if c.Type == apis.ConditionReleaseWarning && delivery.TellsReleased(c.Message) {
		c.Reason = apis.ReasonReleased // a released Application does not wait, so the condition has no reason
	}
	r := remedyOf(c)
	k := Link{Name: r.link, State: r.state, Message: c.Message, Reason: cmp.Or(c.Reason, c.Type), Who: f.command(r.who), Do: f.command(r.do)}
	if k.Reason == apis.ReasonPaused || c.Type == apis.ConditionPausedWarning {
		k.Do = ResumeCommand(f.App.Namespace, f.App.Name, c.Message)
	}
	if i := argocd.IndexCondition(f.App.Status.Conditions, c.Type); i >= 0 {
		k.Since = timeOf(f.App.Status.Conditions[i].LastTransitionTime)
	}
	return k
}

// command inserts the names of the Application into a command.
func (f *Facts) command(do string) string {
	return strings.NewReplacer("NAMESPACE", f.App.Namespace, "APP", f.App.Name, "CLUSTER", word(f.App.Cluster()),
		"PROJECT", word(f.App.Project()), "PLACEMENT", word(f.App.Placement())).Replace(do)
}

// stopped returns whether Towline sends the Application to no cluster: a released or deleted Application.
func (f *Facts) stopped(*Diagnosis) bool { return f.Plan != nil && !delivery.Sent(f.App) }

func (f *Facts) work(l *Diagnosis) {
	switch {
	case f.WorkUnread:
		l.add(Link{Name: LinkWork, State: Unknown, Message: "ManifestWorks of " + l.Cluster + " may not be read"})
	case f.Work == nil:
		l.add(Link{Name: LinkWork, State: Waiting, Message: "Towline has not created the ManifestWork yet",
			Who: "if this lasts: an administrator of the hub",
			Do:  "kubectl towline check"})
	default:
		l.add(Link{Name: LinkWork, State: OK, Message: f.Work.Namespace + "/" + f.Work.Name})
	}
}

func (f *Facts) agent(l *Diagnosis) {
	k := Link{Name: LinkAgent, State: OK, Message: "has applied the latest state"}
	applied := f.applied()
	refused := f.condition(apis.ConditionWorkApplyError)
	away := f.condition(apis.ConditionClusterUnreachableWarning)
	lost := f.condition(apis.ConditionWorkAvailableWarning)
	switch {
	case f.Managed != nil && f.Managed.Unreachable != "":
		k = f.away(f.Managed.Unreachable)
	case f.Managed == nil && away != nil:
		k = f.away(away.Message)
	case refused != nil:
		k = Link{Name: LinkAgent, State: Blocked, Message: refused.Message, Reason: refused.Type, Since: timeOf(refused.LastTransitionTime),
			Who: "an administrator of cluster " + l.Cluster, Do: "kubectl apply -f example/managed # on the cluster: rights of the work agent"}
	case lost != nil:
		k = Link{Name: LinkAgent, State: Blocked, Message: lost.Message, Reason: lost.Type, Since: timeOf(lost.LastTransitionTime),
			Who: "an administrator of cluster " + l.Cluster, Do: "kubectl get applications.argoproj.io -A # on the cluster: who deleted it?"}
	case f.Work == nil && applied == nil:
		k = Link{Name: LinkAgent, State: Unknown}
	case applied == nil || applied.ObservedGeneration != f.Work.Generation || work.Retried(f.Work, f.App):
		k = Link{Name: LinkAgent, State: Waiting, Message: "has not applied the latest state yet",
			Who: "if this lasts: an administrator of cluster " + l.Cluster,
			Do:  "kubectl -n open-cluster-management-agent logs deployment/klusterlet-work-agent # on the cluster"}
	case applied.Status != metav1.ConditionTrue:
		k = Link{Name: LinkAgent, State: Blocked, Message: applied.Message, Since: &applied.LastTransitionTime.Time,
			Who: "an administrator of cluster " + l.Cluster}
	}
	l.add(k)
}

// condition returns the Application's condition of the given type; nil for none.
func (f *Facts) condition(conditionType string) *argocd.Condition {
	if i := argocd.IndexCondition(f.App.Status.Conditions, conditionType); i >= 0 {
		return &f.App.Status.Conditions[i]
	}
	return nil
}

// applied returns the work agent's condition Applied of the work; nil if missing or unreadable.
func (f *Facts) applied() *metav1.Condition {
	if f.Work == nil {
		return nil
	}
	return meta.FindStatusCondition(f.Work.Status.Conditions, workv1.WorkApplied)
}

func (f *Facts) away(message string) Link {
	return Link{Name: LinkAgent, State: Blocked, Message: message + "; the shown state of the Application is the last known state",
		Reason: apis.ConditionClusterUnreachableWarning,
		Who:    "an administrator of cluster " + f.App.Cluster(), Do: "kubectl describe managedcluster " + word(f.App.Cluster())}
}

func (f *Facts) argoCD(l *Diagnosis) {
	s := &f.App.Status
	k := Link{Name: LinkArgoCD, State: OK}
	there := fmt.Sprintf("kubectl -n %s get applications.argoproj.io %s -o yaml # on the cluster", word(f.App.ClusterNamespace()), f.App.Name)
	wrong := slices.IndexFunc(s.Conditions, func(c argocd.Condition) bool {
		owner := apis.ConditionRuleOf(c.Type).Owner
		return (owner == "" || owner == apis.OwnerCluster) && strings.HasSuffix(c.Type, "Error")
	})
	operation, still, late := s.OperationState, f.condition(apis.ConditionNotCompared), f.condition(apis.ConditionRefreshWarning)
	changed := s.Sync != nil && (s.Sync.Status == "Unknown" || s.Sync.Status == "OutOfSync" && f.App.SpecChanged())
	switch {
	case still != nil:
		k.State, k.Message, k.Reason, k.Since = Blocked, still.Message, still.Type, timeOf(still.LastTransitionTime)
		k.Who, k.Do = "an administrator of cluster "+l.Cluster, there
	case wrong >= 0:
		k.State, k.Message, k.Reason = Blocked, s.Conditions[wrong].Message, s.Conditions[wrong].Type
		k.Since, k.Who, k.Do = timeOf(s.Conditions[wrong].LastTransitionTime), "the author of the Application", there
	case operation != nil && (operation.Phase == "Failed" || operation.Phase == "Error"):
		k.State, k.Message, k.Who = Blocked, "the last sync failed"+suffix(operation.Message), "the author of the Application"
		k.Do, k.Reason = there, operation.Phase
	case operation.Running():
		k.State, k.Message = Waiting, "a sync is "+strings.ToLower(operation.Phase)+suffix(operation.Message)
		k.Reason = operation.Phase
	case s.Sync == nil || s.Sync.Status == "":
		k.State, k.Message, k.Do = Waiting, "has not compared the Application yet", there
		k.Who = "if this lasts: an administrator of cluster " + l.Cluster
		if k.Since = f.firstApplied(); k.Since != nil && f.Now.Sub(*k.Since) > relay.ChangeDeadline {
			k.State, k.Who = Blocked, "an administrator of cluster "+l.Cluster
			k.Message = "has told of no comparison of the Application so far: does the application controller of the cluster's Argo CD run?"
		}
	case changed && late != nil:
		k.State, k.Message, k.Do, k.Reason = Blocked, late.Message, there, late.Type
		k.Who, k.Since = "an administrator of cluster "+l.Cluster, cmp.Or(f.asked(), timeOf(late.LastTransitionTime))
	case changed: // no error explains the status: the status controller hides the old status during a change
		k.State, k.Message, k.Do, k.Reason = Waiting, "has not compared the current Application", there, s.Sync.Status
		k.Who = "if this lasts: an administrator of cluster " + l.Cluster
		k.Since = f.asked()
	case s.Sync.Status != "Synced":
		k.State, k.Message = Blocked, "the cluster differs from Git ("+s.Sync.Status+")"
		k.Reason = s.Sync.Status
		k.Who, k.Do = "the author of the Application", f.command("kubectl towline sync -n NAMESPACE APP")
	default:
		k.Message = "Synced" + suffix(s.Sync.Revision)
	}
	trustHint(&k, "an administrator of cluster "+l.Cluster)
	f.sourceHint(&k)
	f.sourceDown(&k)
	l.add(k)
}

// firstApplied returns when the work agent first applied the work; nil if unknown. A later apply of the work keeps the
// time.
func (f *Facts) firstApplied() *time.Time {
	if applied := f.applied(); applied != nil && applied.Status == metav1.ConditionTrue {
		return timeOf(&applied.LastTransitionTime)
	}
	return nil
}

// asked returns the start of the request to compare the Application, from the work; nil if unknown.
func (f *Facts) asked() *time.Time {
	if f.Work == nil {
		return nil
	}
	return timeOf(&metav1.Time{Time: work.Sent(f.Work).Refresh.Since})
}

func (f *Facts) resources(l *Diagnosis) {
	s := &f.App.Status
	k := Link{Name: LinkResources, State: OK, Message: s.Health.Status}
	switch s.Health.Status {
	case "Healthy":
	case "Progressing":
		k.State = Waiting
	case "":
		k.State, k.Message = Waiting, "their health is not known yet"
	default:
		k.State, k.Who = Blocked, "the author of the Application"
		k.Message = joined(k.Message, s.Health.Message)
	}
	if t, err := time.Parse(time.RFC3339, s.Health.LastTransitionTime); err == nil && k.State != OK {
		k.Since = &t
	}
	if k.State != OK {
		k.Reason = s.Health.Status
	}
	if c := f.condition(apis.ConditionResourcesDegraded); c != nil && k.State == Blocked {
		k.Message = joined(k.Message, c.Message)
		l.add(k)
		return
	}
	for _, r := range s.Resources {
		if k.State == Blocked && r.Health != nil && r.Health.Status != "Healthy" && !strings.Contains(k.Message, r.Health.Message) {
			k.Message += fmt.Sprintf("; %s %s: %s", r.Kind, r.Name, r.Health.Message)
			break
		}
	}
	l.add(k)
}

// joined appends more to known, unless known already contains more.
func joined(known, more string) string {
	if strings.Contains(known, more) {
		return known
	}
	return known + suffix(more)
}

func suffix(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func timeOf(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}
