package dependency

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
)

const (
	gitServer = "git.example.com"
	key1      = "0123456789ABCDEF"
	key2      = "FEDCBA9876543210"
)

// ofCertificate returns a situation for the certificate authority of the private source.
func ofCertificate(edits ...edit) *situation {
	s := of(CertificateKey(cluster, gitServer))
	s.Certificates = &corev1.ConfigMap{Data: map[string]string{gitServer: "authority", "other.example.com": "another"}}
	s.Certificates.Namespace, s.Certificates.Name = "argocd", CertificatesConfigMap
	s.Certificates.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
	s.Credentials = ReadCertificates(s.Certificates)
	return s.with(edits...)
}

func withoutEntry(s *situation) {
	s.Certificates = &corev1.ConfigMap{ObjectMeta: s.Certificates.ObjectMeta}
}
func unpropagated(s *situation) { s.Certificates = &corev1.ConfigMap{Data: s.Certificates.Data} }
func noConfigMap(since time.Duration) edit {
	return func(s *situation) { s.Certificates, s.MissingSince = nil, now.Add(-since) }
}

// takesBack reports whether a work has no entry, and leaves the ConfigMap on the cluster.
func takesBack(w *workv1.ManifestWork) bool {
	return orphans(w) && unforced(w) && !strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), `"data":`)
}

// finalCertificate sets the last state of the work, applied by the agent.
func finalCertificate(w *workv1.ManifestWork) {
	last, err := FinalCertificate(w, "gitops")
	if err != nil {
		panic(err)
	}
	w.Spec, w.Generation = last.Spec, 2
	applied(w)
}

func TestCertificate(t *testing.T) {
	operation := webApp().Spec(`{"project":"web","source":{"repoURL":"https://other.example.com/x"}}`).
		Operation(`{"sync":{"source":{"repoURL":"https://git.example.com/web.git"}}}`)
	decides(t, map[string]row{
		"needed": {is: ofCertificate(used(webApp())), want: []string{"create"}, after: orphans},
		"needed by an Application that is not sent":  {is: ofCertificate(used(webApp(), unsent)), want: []string{}},
		"needed by an Application that is forbidden": {is: ofCertificate(used(webApp(), forbidden)), want: []string{}},
		"needed for an operation": {
			is: ofCertificate(used(operation, func(u *User) { u.OperationPermitted = true })), want: []string{"create"}},
		"there":                        {is: ofCertificate(used(webApp()), there()), want: []string{}},
		"there, and refused":           {is: ofCertificate(used(webApp()), there(refusing)), want: []string{}},
		"neither there nor on the hub": {is: ofCertificate(withoutEntry), want: []string{}},
		"another on the hub": {is: ofCertificate(used(webApp()), there(), func(s *situation) {
			s.Certificates = s.Certificates.DeepCopy()
			s.Certificates.Data[gitServer] = "next authority"
		}), want: []string{"update"}},
		"its entry is gone":               {is: ofCertificate(used(webApp()), there(), withoutEntry), want: []string{"final update"}, after: takesBack},
		"its entry is gone, and refused":  {is: ofCertificate(there(refusing), withoutEntry), want: []string{"final update"}, after: takesBack},
		"its entry is gone, and seen":     {is: ofCertificate(there(finalCertificate), withoutEntry), want: []string{"delete"}},
		"its entry is gone, and not seen": {is: ofCertificate(there(finalCertificate, unseen), withoutEntry), want: []string{}},
		"it may not travel":               {is: ofCertificate(used(webApp()), there(), unpropagated), want: []string{"final update"}, after: takesBack},
		"just gone from the hub":          {is: ofCertificate(there(), noConfigMap(time.Second)), want: []string{"after 59s"}},
		"gone from the hub":               {is: ofCertificate(there(), noConfigMap(time.Hour)), want: []string{"final update"}, after: takesBack},
		"unused":                          {is: ofCertificate(there()), want: []string{"final update"}, after: takesBack},
		"unused, and used there":          {is: ofCertificate(there(), carrying(workOf(webApp().Obj()))), want: []string{}},
		"unused, and a released Application used it": {
			is: ofCertificate(there(), carrying(releasedWork(webApp().Obj()))), want: []string{"update"}, after: namesWeb},
		"released, and its work is gone": {is: ofCertificate(there(releasedToWeb)), want: []string{"delete"}},
		"released, and its entry is gone": {
			is: ofCertificate(there(releasedToWeb), withoutEntry), want: []string{"final update"}, after: takesBack},
		"of a cluster that shares the hub's Argo CD": {is: ofCertificate(used(webApp()), there(), sharedArgoCD), want: []string{"delete"}},
		"on a paused cluster":                        {is: ofCertificate(used(webApp()), there(), pausedCluster, withoutEntry), want: []string{}},
		"too large": {is: ofCertificate(used(webApp()), func(s *situation) {
			s.Certificates.Data[gitServer] = strings.Repeat("x", 600<<10)
		}), want: []string{}},
	})
}

const knownHosts = "git.example.com ssh-ed25519 AAAA\n"

// sshApp returns an Application with a source that is read by SSH.
func sshApp() *fixture.ApplicationBuilder {
	return fixture.Application("web").
		Spec(`{"project":"web","source":{"repoURL":"git@git.example.com:web.git"},"destination":{"namespace":"web"}}`)
}

// ofHostKeys returns a situation for the host keys of the cluster, with the given value of the propagate annotation.
func ofHostKeys(propagate string, edits ...edit) *situation {
	s := of(HostKeysKey(cluster))
	s.HostKeys = &corev1.ConfigMap{Data: map[string]string{hostKeysEntry: knownHosts, "other": "unused"}}
	s.HostKeys.Namespace, s.HostKeys.Name = "argocd", HostKeysConfigMap
	s.HostKeys.Annotations = map[string]string{apis.AnnotationPropagate: propagate}
	s.Credentials = ReadHostKeys(s.HostKeys)
	return s.with(edits...)
}

func withoutHostKeys(s *situation) { s.HostKeys = nil }

// setsHostKeys reports whether a work sets exactly the text of the hub, and leaves the ConfigMap on the cluster.
func setsHostKeys(w *workv1.ManifestWork) bool {
	return orphans(w) && strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), `"data":{"ssh_known_hosts":"git.example.com ssh-ed25519 AAAA\n"}`)
}

// TestHostKeys checks that the text of the hub stays on the cluster after the end of the work, and that only the
// annotation "replace" replaces the text of the cluster.
func TestHostKeys(t *testing.T) {
	forced := func(w *workv1.ManifestWork) bool { return setsHostKeys(w) && Forced(w) }
	polite := func(w *workv1.ManifestWork) bool { return setsHostKeys(w) && !Forced(w) }
	operation := sshApp().Spec(`{"project":"web","source":{"repoURL":"https://git.example.com/x"}}`).
		Operation(`{"sync":{"source":{"repoURL":"ssh://git@git.example.com/web.git"}}}`)
	decides(t, map[string]row{
		"needed":           {is: ofHostKeys("true", used(sshApp())), want: []string{"create"}, after: polite},
		"needed by a work": {is: ofHostKeys("replace", used(sshApp())), want: []string{"create"}, after: forced},
		"needed for an operation": {
			is: ofHostKeys("true", used(operation, func(u *User) { u.OperationPermitted = true })), want: []string{"create"}},
		"needed by an Application without a work":    {is: ofHostKeys("replace", used(sshApp(), unsent)), want: []string{}},
		"needed by an Application that is forbidden": {is: ofHostKeys("replace", used(sshApp(), forbidden)), want: []string{}},
		"of a hub without the annotation":            {is: ofHostKeys("", used(sshApp())), want: []string{}},
		"kept on the hub":                            {is: ofHostKeys("false", used(sshApp())), want: []string{}},
		"of a hub without the ConfigMap":             {is: ofHostKeys("true", used(sshApp()), withoutHostKeys), want: []string{}},
		"of a hub without the entry": {is: ofHostKeys("true", used(sshApp()), func(s *situation) {
			s.HostKeys.Data = map[string]string{"other": "x"}
		}), want: []string{}},
		"there": {is: ofHostKeys("true", used(sshApp()), there()), want: []string{}},
		"there, and to be replaced": {is: ofHostKeys("true", used(sshApp()), there(), func(s *situation) {
			s.HostKeys = ofHostKeys("replace").HostKeys
		}), want: []string{"update"}, after: forced},
		"there, and to be replaced no longer": {is: ofHostKeys("replace", used(sshApp()), there(), func(s *situation) {
			s.HostKeys = ofHostKeys("true").HostKeys
		}), want: []string{"update"}, after: polite},
		"there, and gone from the hub":   {is: ofHostKeys("true", used(sshApp()), there(), withoutHostKeys), want: []string{"delete"}},
		"unused":                         {is: ofHostKeys("true", there()), want: []string{"delete"}},
		"unused, and used there":         {is: ofHostKeys("true", there(), carrying(workOf(sshApp().Obj()))), want: []string{}},
		"of a paused cluster":            {is: ofHostKeys("true", used(sshApp()), pausedCluster), want: []string{}},
		"of the hub as a cluster":        {is: ofHostKeys("replace", used(sshApp()), sharedArgoCD), want: []string{}},
		"of the hub as a cluster, there": {is: ofHostKeys("replace", used(sshApp()), there(), sharedArgoCD), want: []string{"delete"}},
		"too large": {is: ofHostKeys("replace", used(sshApp()), func(s *situation) {
			s.HostKeys.Data[hostKeysEntry] = strings.Repeat("x", 600<<10)
		}), want: []string{}},
	})
}

// TestConditionNamesHostKeys checks the condition of an Application whose host keys are too large, or refused by the
// cluster.
func TestConditionNamesHostKeys(t *testing.T) {
	sent := func(propagate string) edit {
		return func(s *situation) {
			w := ofHostKeys(propagate, used(sshApp()), there(refusing)).Work
			s.Dependencies, s.HostKeys = []*workv1.ManifestWork{w}, ofHostKeys(propagate).HostKeys
		}
	}
	large := func(c *corev1.ConfigMap, key string) { c.Data[key] = strings.Repeat("x", 600<<10) }
	decides(t, map[string]row{
		"refused": {is: ofObjects(sshApp(), sent("true")), want: []string{apis.ReasonDependencyRefused},
			says: "keeps its own host keys in ConfigMap argocd-ssh-known-hosts-cm"},
		"refused, although forced": {is: ofObjects(sshApp(), sent("replace")), want: []string{apis.ReasonDependencyRefused},
			says: "give its work agent the right to change ConfigMap argocd-ssh-known-hosts-cm"},
		"too large": {is: ofObjects(sshApp(), func(s *situation) {
			s.HostKeys = ofHostKeys("true").HostKeys
			s.Credentials = ReadHostKeys(s.HostKeys)
			large(s.HostKeys, hostKeysEntry)
		}), want: []string{apis.ReasonDependencyInvalid}, says: "ConfigMap argocd-ssh-known-hosts-cm cannot be sent"},
		"a certificate that is too large": {is: ofObjects(webApp(), func(s *situation) {
			s.Certificates = ofCertificate().Certificates
			s.Credentials = ReadCertificates(s.Certificates)
			large(s.Certificates, gitServer)
		}), want: []string{apis.ReasonDependencyInvalid}, says: "ConfigMap argocd-tls-certs-cm cannot be sent"},
		"not needed": {is: ofObjects(webApp(), func(s *situation) {
			s.HostKeys = ofHostKeys("true").HostKeys
			s.Credentials = ReadHostKeys(s.HostKeys)
			large(s.HostKeys, hostKeysEntry)
		}), want: []string{}},
	})
}

// TestOverSSH checks which addresses Argo CD reads by SSH.
func TestOverSSH(t *testing.T) {
	for address, want := range map[string]bool{
		"git@github.com:org/repo.git": true, "ssh://git@git.example.com:2222/x.git": true,
		"ssh://git.example.com/x": false, "https://git.example.com/x": false, "https://user@git.example.com/x": false, "oci://r.example.com/charts": false,
		"r.example.com/charts": false, "r.example.com/charts@sha256:1": false, "": false,
	} {
		if got := overSSH(authorization.NormalizeURL(address)); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}

// signed lets the AppProject name two public keys. The hub has only the first.
func signed(s *situation) {
	s.Project.Spec.Raw = []byte(`{"destinations":[{"server":"*","namespace":"*"}],"signatureKeys":[{"keyID":"` + key1 + `"},{"keyID":"` + key2 + `"}]}`)
	s.Keys = &corev1.ConfigMap{Data: map[string]string{key1: "first", "AAAAAAAAAAAAAAAA": "unused"}}
}

func keptKeys(s *situation) {
	s.Keys = s.Keys.DeepCopy()
	s.Keys.Annotations = map[string]string{apis.AnnotationPropagate: "false"}
}

// sendsKeys reports whether a work sets exactly the key that the hub has and the AppProject names.
func sendsKeys(w *workv1.ManifestWork) bool {
	return len(w.Spec.Workload.Manifests) == 2 && strings.Contains(string(w.Spec.Workload.Manifests[1].Raw), `"data":{"`+key1+`":"first"}`)
}

// takesKeysBack reports whether a work removes all its public keys.
func takesKeysBack(w *workv1.ManifestWork) bool {
	return len(w.Spec.Workload.Manifests) == 2 && !strings.Contains(string(w.Spec.Workload.Manifests[1].Raw), `"data":`) && orphans(w)
}

func setsNoKeys(w *workv1.ManifestWork) bool { return !setsKeys(w) }

// onlyProjectForced reports whether a work takes over the AppProject, and leaves the cluster its own public keys.
func onlyProjectForced(w *workv1.ManifestWork) bool {
	return Forced(w) && !w.Spec.ManifestConfigs[1].UpdateStrategy.ServerSideApply.Force
}

func TestKeysOfAProject(t *testing.T) {
	unsigned := func(s *situation) { s.Project = ofProject().Project }
	decides(t, map[string]row{
		"named":                       {is: ofProject(signed, used(webApp())), want: []string{"create"}, after: sendsKeys},
		"there":                       {is: ofProject(signed, used(webApp()), there()), want: []string{}},
		"named no longer":             {is: ofProject(signed, used(webApp()), there(), unsigned), want: []string{"update"}, after: takesKeysBack},
		"kept on the hub":             {is: ofProject(signed, keptKeys, used(webApp())), want: []string{"create"}, after: setsNoKeys},
		"kept on the hub, and sent":   {is: ofProject(signed, used(webApp()), there(), keptKeys), want: []string{"update"}, after: takesKeysBack},
		"of a project that is unused": {is: ofProject(signed, there()), want: []string{"final update"}, after: takesKeysBack},
		"of a project that is released": {
			is: ofProject(signed, there(releasedToWeb)), want: []string{"delete"}},
		"of a project that is taken": {is: ofProject(signed, used(webApp()), brought), want: []string{"create"}, after: onlyProjectForced},
		"too large": {is: ofProject(signed, used(webApp()), func(s *situation) {
			s.Keys.Data[key1] = strings.Repeat("x", 600<<10)
		}), want: []string{}},
	})
}

// TestConditionNamesUndeliveredKeys checks that the Application's condition names undelivered keys.
func TestConditionNamesUndeliveredKeys(t *testing.T) {
	refusesKeys := func(w *workv1.ManifestWork) {
		refusing(w)
		w.Status.ResourceStatus.Manifests[0].ResourceMeta = workv1.ManifestResourceMeta{Resource: "configmaps", Name: KeysConfigMap}
	}
	refused := func(s *situation) {
		sent := ofProject(signed, used(webApp()), there(refusesKeys))
		s.Dependencies = []*workv1.ManifestWork{sent.Work}
		s.Keys.Data[key2] = "second"
	}
	decides(t, map[string]row{
		"missing": {is: ofObjects(webApp(), signed), want: []string{apis.ReasonDependencyMissing},
			says: "AppProject web asks for signatures by key " + key2 + ", which ConfigMap argocd-gpg-keys-cm of the hub does not have"},
		"missing altogether": {is: ofObjects(webApp(), signed, func(s *situation) { s.Keys = nil }), want: []string{apis.ReasonDependencyMissing},
			says: key1 + ", " + key2},
		"there":             {is: ofObjects(webApp(), signed, func(s *situation) { s.Keys.Data[key2] = "second" }), want: []string{}},
		"the clusters' own": {is: ofObjects(webApp(), signed, keptKeys), want: []string{}},
		"of a project that stays on the hub": {is: ofObjects(webApp(), signed, func(s *situation) {
			s.Project.Annotations = map[string]string{apis.AnnotationPropagate: "false"}
		}), want: []string{}},
		"refused": {is: ofObjects(webApp(), signed, refused), want: []string{apis.ReasonDependencyRefused},
			says: "keeps its own entry in ConfigMap argocd-gpg-keys-cm"},
		"too large": {is: ofObjects(webApp(), signed, func(s *situation) { s.Keys.Data[key2] = strings.Repeat("x", 600<<10) }),
			want: []string{apis.ReasonDependencyInvalid}, says: "AppProject web cannot be sent"},
	})
}

// TestSignatureKeys checks keys by ID or fingerprint, in the fields of Argo CD 2 and of Argo CD 3.5.
func TestSignatureKeys(t *testing.T) {
	for spec, want := range map[string][]string{
		``: nil, `{}`: nil, `[]`: nil, `{"signatureKeys":"x"}`: nil,
		`{"signatureKeys":[{"keyID":"` + key2 + `"},{"keyID":"` + key1 + `"},{"keyID":"` + key2 + `"}]}`: {key1, key2},
		`{"signatureKeys":[{"keyID":"` + strings.Repeat("0", 24) + key1 + `"}]}`:                         {key1},
		`{"signatureKeys":[{"keyID":"short"},{"keyID":""},{"keyID":"../../../../../x"}]}`:                {},
		`{"sourceIntegrity":{"git":{"policies":[{"gpg":{"mode":"head","keys":["` + key1 + `"]}},{}]}}}`:  {key1},
	} {
		p := &argocd.AppProject{}
		p.Spec.Raw = []byte(spec)
		if got := SignatureKeys(p); !slices.Equal(got, want) {
			t.Errorf("%s: %q", spec, got)
		}
	}
}

// TestHostname checks that a certificate authority is for a server with any port, and never for an address without
// TLS.
func TestHostname(t *testing.T) {
	for address, want := range map[string]string{
		"https://git.example.com/a": gitServer, "https://git.example.com:8443/a": gitServer, "https://user:p@git.example.com": gitServer,
		"oci://git.example.com/charts": gitServer, "git.example.com/charts": gitServer,
		"https://git.example.com.attacker.example/a": "git.example.com.attacker.example",
		"ssh://git@git.example.com/a":                "", "http://git.example.com/a": "", "https://": "", "": "", "git@git.example.com/a": "",
		"https://attacker.example/@git.example.com": "attacker.example",
	} {
		if got := hostname(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

// TestTrustGolden checks the golden works: each entry has a separate field manager, and only the host keys have force.
// The ConfigMap stays.
func TestTrustGolden(t *testing.T) {
	certificate := Decide(ofCertificate(used(webApp())).Facts, ofCertificate().Options).Step.Work
	last, err := FinalCertificate(certificate, "")
	if err != nil {
		t.Fatal(err)
	}
	for title, w := range map[string]*workv1.ManifestWork{
		"certificate": certificate, "final-certificate": last,
		"host-keys":         Decide(ofHostKeys("replace", used(sshApp())).Facts, ofHostKeys("").Options).Step.Work,
		"project-with-keys": Decide(ofProject(signed, used(webApp())).Facts, ofProject().Options).Step.Work,
	} {
		t.Run(title, func(t *testing.T) {
			got, err := yaml.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, title+".golden.yaml", got)
		})
	}
}

// TestSameTrust checks that only the entries and the permission to travel count.
func TestSameTrust(t *testing.T) {
	a := &corev1.ConfigMap{Data: map[string]string{gitServer: "x"}}
	for title, tc := range map[string]struct {
		change func(*corev1.ConfigMap)
		same   bool
	}{
		"a label":  {func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"} }, true},
		"an entry": {func(c *corev1.ConfigMap) { c.Data = nil }, false},
		"permission": {func(c *corev1.ConfigMap) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, apis.AnnotationPropagate, "true")
		}, false},
		"force": {func(c *corev1.ConfigMap) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, apis.AnnotationPropagate, "replace")
		}, false},
		"refusal": {func(c *corev1.ConfigMap) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, apis.AnnotationPropagate, "false")
		}, false},
	} {
		b := a.DeepCopy()
		if tc.change(b); SameTrust(a, b) != tc.same {
			t.Errorf("%s: %t", title, !tc.same)
		}
	}
}
