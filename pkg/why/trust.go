package why

import (
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
)

// trust is a kind of material that the cluster's Argo CD needs to trust a repository or a commit.
type trust struct {
	// says are parts of messages from Argo CD, Git and SSH about the missing material, in lower case.
	says []string

	// remedy names the material, and its ConfigMap and key on the cluster.
	remedy string

	// do is the command to add the material. onHub is true if Towline sends the material, and the command runs on the
	// hub.
	do    string
	onHub bool
}

// trusts are all kinds of trust material.
var trusts = []trust{
	{
		says: []string{"knownhosts: key mismatch", "host key is known for", "remote host identification has changed"},
		remedy: "the repository shows another host key than the key ssh_known_hosts of ConfigMap argocd-ssh-known-hosts-cm on the cluster: ask " +
			"the administrator of the Git server whether the host key has changed. Otherwise another server may answer in place of the Git server. " +
			"Then change the line of the host, on the hub if Towline sends the text",
		do: "argocd cert list --cert-type ssh # with argocd at the cluster's Argo CD, to compare the fingerprint",
	},
	{
		says: []string{"knownhosts: key is unknown", "host key verification failed"},
		remedy: "the cluster's Argo CD does not know the host key of the repository: add the line of the host to the key ssh_known_hosts " +
			"of ConfigMap argocd-ssh-known-hosts-cm, on the hub if Towline sends the text, and otherwise on the cluster. To let Towline send the text " +
			"of the hub, annotate the hub's ConfigMap with " + apis.AnnotationPropagate + ": \"true\", or \"replace\" to replace a different text",
		do: "argocd cert add-ssh --batch < known_hosts # with argocd at the cluster's Argo CD, after a comparison of the fingerprints",
	},
	{
		says: []string{"certificate signed by unknown authority", "unable to get local issuer certificate", "self-signed certificate",
			"self signed certificate", "server certificate verification failed"},
		remedy: "the cluster's Argo CD does not know the certificate authority of the repository: add the certificate to ConfigMap " +
			"argocd-tls-certs-cm of the hub, with the name of the host as key, and let Towline send it, or add it on the cluster",
		do:    "kubectl annotate configmap argocd-tls-certs-cm " + apis.AnnotationPropagate + "=true # in the namespace of the hub's Argo CD",
		onHub: true,
	},
	{
		says: []string{"is not signed, but a signature is required", "commit signature", "no public key", "gnupg",
			"but this key is not allowed in appproject"},
		remedy: "the AppProject asks for signed commits: the commit must be signed, and the AppProject must name its key. Towline sends the " +
			"public key if ConfigMap argocd-gpg-keys-cm of the hub has it",
		do:    "argocd gpg add --from key.asc # with argocd at the hub's Argo CD",
		onHub: true,
	},
}

// trustHint adds the missing material to a message from the cluster's Argo CD.
func trustHint(k *Link, administrator string) {
	message := strings.ToLower(k.Message)
	for _, t := range trusts {
		if slices.ContainsFunc(t.says, func(part string) bool { return strings.Contains(message, part) }) {
			k.Message += ": " + t.remedy
			k.Who, k.Do = administrator, t.do
			if t.onHub {
				k.Who = admin
			}
			return
		}
	}
}
