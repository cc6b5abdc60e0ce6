package dependency

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxNote is the maximum length of an event's note (events.k8s.io/v1).
const maxNote = 1024

// problem describes a failing dependency of an Application, for the user who can repair it.
type problem struct {
	reason, message string

	// origin is the hub object of the problem, whose owner gets an event; nil for none.
	origin Object
}

func problemf(reason, format string, args ...any) problem {
	return problem{reason: reason, message: fmt.Sprintf(format, args...)}
}

func about(o Object, p problem) problem {
	p.origin = o
	return p
}

// withInvalid returns a problem with the objects annotation.
func withInvalid(format string, args ...any) problem {
	return problemf(apis.ReasonDependencyInvalid, "annotation %s: %s", apis.AnnotationWith, fmt.Sprintf(format, args...))
}

// oversized returns the problems of the Application's dependencies that are too large to travel.
func (d *decision) oversized() (out []problem) {
	if !d.Cluster.Exists || d.shared(d.Options) {
		return nil
	}
	if p := d.Project; d.largeProject() && d.projectTravels(p) {
		if err := d.fits(d.renderProject()); err != nil {
			out = append(out, about(p, problemf(apis.ReasonDependencyInvalid,
				"AppProject %s cannot be sent: %s: shorten or split the AppProject", p.Name, err)))
		}
	}
	needed := d.Needed()
	for i := range d.Secrets {
		s := &d.Secrets[i]
		if !LargeSecret(s) || !propagates(s.Annotations) || !slices.Contains(needed, CredentialKey(d.Key.Namespace, s.Name)) {
			continue
		}
		if err := d.fits(RenderCredential(s, d.Key.Namespace, d.argocdNamespace(d.Options))); err != nil {
			out = append(out, about(s, problemf(apis.ReasonDependencyInvalid, "Secret %s cannot be sent: %s: shorten the Secret", s.Name, err)))
		}
	}
	return append(out, d.oversizedTrust(needed)...)
}

// oversizedTrust returns the problems of needed certificates and host keys that are too large to travel.
func (d *decision) oversizedTrust(needed []types.NamespacedName) (out []problem) {
	if text := d.hostKeys(); len(text) > doubtful && slices.Contains(needed, HostKeysKey(d.Key.Namespace)) {
		if err := d.fits(renderHostKeys(d.Key.Namespace, d.argocdNamespace(d.Options), text)); err != nil {
			out = append(out, about(d.HostKeys, problemf(apis.ReasonDependencyInvalid,
				"ConfigMap %s cannot be sent: %s: shorten the key %s", HostKeysConfigMap, err, hostKeysEntry)))
		}
	}
	for _, s := range ReadCertificates(d.Certificates) {
		pem := d.Certificates.Data[s.Host]
		if len(pem) <= doubtful || !slices.Contains(needed, CertificateKey(d.Key.Namespace, s.Host)) {
			continue
		}
		if err := d.fits(renderCertificate(d.Key.Namespace, d.argocdNamespace(d.Options), s.Host, pem)); err != nil {
			out = append(out, about(d.Certificates, problemf(apis.ReasonDependencyInvalid,
				"ConfigMap %s cannot be sent: %s: shorten the key %s", CertificatesConfigMap, err, s.Host)))
		}
	}
	return out
}

// bareHosts returns problems for templates of a whole host. On clusters, a template is only for the addresses under
// its host. So a repository without a path cannot use the template.
func (d *decision) bareHosts() (out []problem) {
	spec := d.spec()
	for i := range d.Secrets {
		s := &d.Secrets[i]
		scope, ok := ReadScope(s)
		host, bare := strings.CutSuffix(scope.URL, "/")
		if !ok || !bare || !propagates(s.Annotations) || !slices.Contains(spec.Repositories, host) || len(d.Credentials.For(spec.Project, host)) > 0 {
			continue
		}
		out = append(out, about(s, problemf(apis.ReasonDependencyInvalid,
			"Secret %s is not sent for a repository whose address is the host alone: on clusters, its credential is for the addresses under %s/ only: "+
				"create a Secret of type repository for the repository, with the annotation %s: \"true\"", s.Name, Host(scope.URL), apis.AnnotationPropagate)))
	}
	return out
}

// fits returns the error if a rendered work is too large; nil if the work fits. Other errors go into the plan.
func (d *decision) fits(_ *workv1.ManifestWork, err error) error {
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		return large
	}
	d.plan.Err = errors.Join(d.plan.Err, err)
	return nil
}

// refused returns problems for the Application's dependencies that the cluster did not accept.
func (d *decision) refused() (out []problem) {
	for _, w := range d.Dependencies {
		if Seen(w) && !Applied(w) {
			out = append(out, about(d.origin(w), refusal(w)))
		}
	}
	return out
}

// origin returns the source object of a dependency: the AppProject, the Secret, or the ConfigMap with the
// certificates or host keys. It is nil for objects, because their work has many sources, and for a namespace.
func (d *decision) origin(w *workv1.ManifestWork) Object {
	switch kind, _ := KindOf(w.Name); kind {
	case Project:
		if d.Project != nil {
			return d.Project
		}
	case Credential:
		if s := SecretOf(keyOf(w), d.Secrets); s != nil {
			return s
		}
	case Certificate:
		if d.Certificates != nil {
			return d.Certificates
		}
	case HostKeys:
		if d.HostKeys != nil {
			return d.HostKeys
		}
	case Objects, Namespace:
	}
	return nil
}

// refusal returns the problem of a refused dependency. The API server's message about a Secret may quote secret
// values, so the message stays in the status of the work.
func refusal(w *workv1.ManifestWork) problem {
	kind, _ := KindOf(w.Name)
	switch {
	case kind == Namespace:
		return problemf(apis.ReasonDependencyRefused,
			"cluster %s did not let its work agent create the namespace of this Application: create the namespace there, or give the agent "+
				"the right to create namespaces (ManifestWork %s/%s: %s)", w.Namespace, w.Namespace, w.Name, notApplied(w))
	case kind == Certificate:
		return refusedTrust(w, CertificatesConfigMap)
	case kind == HostKeys && Forced(w):
		return problemf(apis.ReasonDependencyRefused,
			"cluster %s refuses the host keys of the hub: give its work agent the right to change ConfigMap %s in the namespace of Argo CD "+
				"(ManifestWork %s/%s: %s)", w.Namespace, HostKeysConfigMap, w.Namespace, w.Name, notApplied(w))
	case kind == HostKeys:
		return problemf(apis.ReasonDependencyRefused,
			"cluster %s keeps its own host keys in ConfigMap %s, or refuses the host keys of the hub: to replace the text of the cluster, copy the "+
				"lines that the cluster needs to the hub's ConfigMap, and annotate the hub's ConfigMap with %s: %q; to keep the text of the "+
				"cluster, remove the annotation from the hub's ConfigMap (ManifestWork %s/%s: %s)",
			w.Namespace, HostKeysConfigMap, apis.AnnotationPropagate, replace, w.Namespace, w.Name, notApplied(w))
	case kind == Project && keysRefused(w):
		return refusedTrust(w, KeysConfigMap)
	case kind != Project:
		return problemf(apis.ReasonDependencyRefused,
			"cluster %s did not accept all dependencies of this Application: see the status of ManifestWork %s/%s "+
				"for the refused objects and the causes", w.Namespace, w.Namespace, w.Name)
	}
	return problemf(apis.ReasonDependencyRefused,
		"cluster %s uses its own AppProject of the same name, or refuses the hub's AppProject: delete the cluster's AppProject, or annotate the "+
			"hub's AppProject with %s: \"false\" (ManifestWork %s/%s: %s)",
		w.Namespace, apis.AnnotationPropagate, w.Namespace, w.Name, notApplied(w))
}

// refusedTrust returns the problem of a refused entry in a ConfigMap of Argo CD. The ConfigMap holds no secret
// values.
func refusedTrust(w *workv1.ManifestWork, configMap string) problem {
	return problemf(apis.ReasonDependencyRefused,
		"cluster %s keeps its own entry in ConfigMap %s, or refuses the hub's entry: to use the hub's entry, delete the entry on the cluster; to "+
			"keep the cluster's entry, give the entry the value of the hub (ManifestWork %s/%s: "+
			"%s)", w.Namespace, configMap, w.Namespace, w.Name, notApplied(w))
}

// keysRefused reports whether the cluster accepted the AppProject of a work, but not its public keys.
func keysRefused(w *workv1.ManifestWork) bool {
	keys, others := false, false
	for _, m := range w.Status.ResourceStatus.Manifests {
		if refusedManifest(m) == nil {
			continue
		}
		ofKeys := m.ResourceMeta.Name == KeysConfigMap && m.ResourceMeta.Resource == "configmaps"
		keys, others = keys || ofKeys, others || !ofKeys
	}
	return keys && !others
}

// missingKeys returns a problem for the public keys of the Application's AppProject that the hub lacks.
func (d *decision) missingKeys() []problem {
	if d.Project == nil || !d.projectTravels(d.Project) || !d.Cluster.Exists || d.shared(d.Options) {
		return nil
	}
	_, missing := d.signatureKeys()
	if len(missing) == 0 {
		return nil
	}
	return []problem{about(d.Project, problemf(apis.ReasonDependencyMissing,
		"AppProject %s asks for signatures by key %s, which ConfigMap %s of the hub does not have, so Towline cannot send the key to cluster %s: "+
			"add the key to the hub (argocd gpg add --from FILE), or, if the clusters have their own keys, annotate that ConfigMap with %s: \"false\"",
		d.Project.Name, strings.Join(missing, ", "), KeysConfigMap, d.Cluster.Name, apis.AnnotationPropagate))}
}

// notApplied returns the agent's message about the first failed manifest.
func notApplied(w *workv1.ManifestWork) string {
	for _, m := range w.Status.ResourceStatus.Manifests {
		if c := refusedManifest(m); c != nil {
			return c.Message
		}
	}
	return ""
}

// refusedManifest returns the agent's condition for a failed manifest; nil for none.
func refusedManifest(m workv1.ManifestCondition) *metav1.Condition {
	i := slices.IndexFunc(m.Conditions, func(c metav1.Condition) bool {
		return c.Type == workv1.ManifestApplied && c.Status == metav1.ConditionFalse
	})
	if i < 0 {
		return nil
	}
	return &m.Conditions[i]
}

// show updates the Application's condition for problems with its dependencies, and removes the condition if no
// problem is left. It adds events only for a new message: on the Application, and on the source object of each
// problem.
func (d *decision) show(app *argocd.Application, problems []problem) {
	message := ""
	d.plan.Silent, d.plan.Problem = false, ""
	if len(problems) > 0 {
		texts := make([]string, len(problems))
		for i, p := range problems {
			texts[i] = p.message
		}
		d.plan.Problem = problems[0].reason
		message = feedback.Clean(strings.Join(texts, "; "), feedback.MaxMessage)
	}
	conditions := showing(app.Status.Conditions, message, metav1.NewTime(d.Now))
	if argocd.SameConditions(app.Status.Conditions, conditions) {
		return
	}
	d.hub().Conditions = conditions
	if message != "" {
		d.plan.Events = append(d.plan.Events, Event{Reason: d.plan.Problem, Note: feedback.Clean(message, maxNote)})
	}
	for _, p := range problems {
		if p.origin != nil {
			note := fmt.Sprintf("for Application %s/%s: %s", app.Namespace, app.Name, p.message)
			d.plan.Events = append(d.plan.Events, Event{On: p.origin, Reason: p.reason, Note: feedback.Clean(note, maxNote)})
		}
	}
}

// hub returns the patch of the Application.
func (d *decision) hub() *argocd.Patch {
	if d.plan.Hub == nil {
		d.plan.Hub = &argocd.Patch{Exact: true}
	}
	return d.plan.Hub
}

// showing returns the conditions with the message in the condition about dependencies. An empty message removes the
// condition.
func showing(before []argocd.Condition, message string, now metav1.Time) []argocd.Condition {
	var wanted []argocd.Condition
	if message != "" {
		wanted = append(wanted, argocd.Condition{Type: apis.ConditionDependencyError, Message: message})
	}
	return argocd.SetConditions(before, wanted, func(t string) bool { return t == apis.ConditionDependencyError }, now)
}
