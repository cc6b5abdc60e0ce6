package why_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

// TestTrust checks that a message about missing trust names the ConfigMap, the key, and the person who can add the key.
func TestTrust(t *testing.T) {
	for message, want := range map[string]string{
		"failed to list refs: ssh: handshake failed: knownhosts: key is unknown":                                            "argocd-ssh-known-hosts-cm",
		"ssh: handshake failed: knownhosts: key mismatch":                                                                   "argocd-ssh-known-hosts-cm",
		"git fetch failed: Host key verification failed.":                                                                   "argocd-ssh-known-hosts-cm",
		`Get "https://git.example.com/x": tls: failed to verify certificate: x509: certificate signed by unknown authority`: "argocd-tls-certs-cm",
		"SSL certificate problem: unable to get local issuer certificate":                                                   "argocd-tls-certs-cm",
		"Target revision abc in Git is not signed, but a signature is required":                                             "argocd-gpg-keys-cm",
		"Could not verify commit signature on revision 'abc', check logs for more information.":                             "argocd-gpg-keys-cm",
		"app path does not exist": "",
	} {
		for title, edit := range map[string]func(*argocd.Status){
			"compared": func(s *argocd.Status) {
				s.Conditions = []argocd.Condition{{Type: "ComparisonError", Message: message}}
			},
			"synced": func(s *argocd.Status) {
				s.OperationState = &argocd.OperationState{Phase: "Failed", Message: message}
			},
		} {
			l := why.Of(good(status(edit)))
			for _, k := range l.Links {
				if k.Name != why.LinkArgoCD {
					continue
				}
				who := map[string]string{"argocd-ssh-known-hosts-cm": "an administrator of cluster cluster1", "": k.Who}[want]
				if who == "" && want != "" {
					who = "an administrator of the hub" // Towline sends the entry
				}
				if !strings.Contains(k.Message, message) || !strings.Contains(k.Message, want) || k.Who != who ||
					(want == "") == strings.Contains(k.Message, "argocd-") ||
					(want == "argocd-ssh-known-hosts-cm") != strings.Contains(k.Message, "if Towline sends the text") {
					t.Errorf("%s, %q: %+v", title, message, k)
				}
			}
		}
	}
}
