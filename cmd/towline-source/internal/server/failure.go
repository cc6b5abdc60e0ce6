package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/towline-io/towline/cmd/towline-source/internal/credential"
	"github.com/towline-io/towline/cmd/towline-source/internal/git"
	"github.com/towline-io/towline/cmd/towline-source/internal/mirror"
	"github.com/towline-io/towline/pkg/source"
)

// A failure is why the hub cannot serve a repository.
type failure struct {
	// reason is the label in the metrics, and the reason in the status of a Repository.
	reason string

	// text and remedy go to the cluster. They name no server and no credential.
	text, remedy string

	// code is the status code of the answer; 0 for 424.
	code int

	// signs are parts of git's error output.
	signs []string
}

// failures are the failures that git's error output tells apart. The first match counts: git's last lines are about any
// end of a connection.
var failures = []failure{
	broken,
	{
		reason: "unverified",
		text:   "the hub cannot verify the Git server",
		remedy: "correct the ConfigMap argocd-tls-certs-cm or argocd-ssh-known-hosts-cm on the hub",
		signs: []string{
			"SSL certificate problem", "certificate verification failed", "SSL: no alternative certificate", "SSL: certificate subject name",
			"Host key verification failed",
		},
	},
	{
		reason: "credential",
		text:   "the Git server refuses the credential of the hub",
		remedy: "correct the repository Secret on the hub",
		signs: []string{
			"Authentication failed", "could not read Username", "could not read Password", "returned error: 401", "returned error: 403",
			"Permission denied", "Access denied",
		},
	},
	{
		reason: "missing",
		text:   "the Git server has no such repository, or hides the repository from the credential of the hub",
		remedy: "correct the address, or the rights of the hub's account",
		signs: []string{
			"not found", "returned error: 404", "returned error: 410", "does not appear to be a git repository", "is this a git repository?",
		},
	},
	{
		reason: "dns",
		text:   "the hub cannot resolve the name of the Git server",
		remedy: "correct the address, or the DNS of the hub",
		signs:  []string{"Could not resolve"},
	},
	unreachable,
	{
		reason: "interrupted",
		text:   "the connection to the Git server breaks",
		remedy: "look at the Git server, and at the network and the proxies between. The next request reads again",
		signs: []string{
			"Connection reset", "Connection closed", "closed by remote host", "Broken pipe", "Empty reply", "transfer closed", "unexpected disconnect",
			"non-properly terminated", "SSL_ERROR_SYSCALL", "unexpected eof while reading", "not closed cleanly", "framing layer", "early EOF",
			"hung up", "RPC failed",
		},
	},
	{
		reason: "tls",
		text:   "the hub and the Git server do not agree on TLS",
		remedy: "correct the scheme and port of the address, or the TLS settings of the Git server",
		signs:  []string{"gnutls_handshake", "GnuTLS", "TLS packet", "SSL routines", "SSL_connect", "wrong version number"},
	},
	unusable,
}

var (
	// broken is no failure of a Git server. Agents take 503 as the absence of the hub, and repeat kept answers.
	broken = failure{
		reason: "hub", code: http.StatusServiceUnavailable,
		text:   "towline-source fails",
		remedy: "see the log of towline-source. For a full volume, lower --max-bytes, or enlarge the volume",
		signs:  []string{"No space left on device", "Disk quota exceeded"},
	}
	unreachable = failure{
		reason: "unreachable",
		text:   "the hub cannot reach the Git server, or the Git server fails",
		remedy: "repair the Git server, or the network between",
		signs: []string{
			"Failed to connect", "Could not connect", "Couldn't connect", "Connection refused", "timed out", "No route to host",
			"Network is unreachable", "returned error: 5", "Operation too slow", "not responding",
		},
	}
	tooLarge = failure{
		reason: "too-large",
		text:   "the repository is larger than the limit of towline-source",
		remedy: "raise --max-repository-bytes, with the volume",
	}
	unusable = failure{
		reason: "secret",
		text:   "the address or the repository Secret on the hub is not usable for towline-source",
		remedy: "correct the address, or the field of the Secret in the error on the hub",
		signs:  []string{"not allowed"}, // a transport other than HTTP and SSH
	}
	other = failure{
		reason: "other",
		text:   "the hub cannot read the repository from the Git server",
		remedy: "see the error of git on the hub",
	}
)

// told returns an error in the form of the status of a Repository.
func told(err error) source.Failure {
	why := failureOf(err)
	return source.Failure{Error: err.Error(), Reason: why.reason, Message: why.text + ": " + why.remedy}
}

// failureOf returns why a request failed.
func failureOf(err error) failure {
	switch {
	case errors.Is(err, mirror.ErrTooLarge):
		return tooLarge
	case errors.Is(err, mirror.ErrNoAnswer):
		return unreachable
	}
	if _, ok := errors.AsType[credential.Error](err); ok {
		return unusable
	}
	failed, ok := errors.AsType[*git.Error](err)
	if !ok || !failed.Remote() || failed.Text == "" { // git tells each failure of a Git server
		return broken
	}
	for _, f := range failures {
		if slices.ContainsFunc(f.signs, func(sign string) bool { return strings.Contains(failed.Text, sign) }) {
			return f
		}
	}
	return other
}
