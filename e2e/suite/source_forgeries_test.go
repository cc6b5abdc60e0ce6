package suite

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/towline-io/towline/pkg/source"
)

// refsOf is the path and query of git's question about references, below the path of a repository.
const refsOf = "/info/refs?service=git-upload-pack"

// forgery is a request of a cluster for a repository of a different cluster.
type forgery struct{ method, path, body, protocol string }

// forgeries returns the requests for the repository of a name in a namespace. own is the name of a repository that cluster2
// may read.
func forgeries(namespace, name, own string) map[string]forgery {
	at := source.Path(namespace, name)
	object := strings.TrimSuffix(at, "/"+source.Proxy)
	beside := source.Path("cluster2", own)
	back := strings.Join([]string{namespace, source.Resource, name, source.Proxy}, "/") + refsOf
	commit := strings.Repeat("0", 40)
	return map[string]forgery{
		"references":            {method: http.MethodGet, path: at + refsOf},
		"references for a push": {method: http.MethodGet, path: at + "/info/refs?service=git-receive-pack"},
		"the dumb protocol":     {method: http.MethodGet, path: at + "/info/refs"},
		"a file":                {method: http.MethodGet, path: at + "/HEAD"},
		"no path":               {method: http.MethodGet, path: at},
		"a pack":                wants(namespace, name, commit, ""),
		"a pack, version 2":     wants(namespace, name, commit, "version=2"),
		"a push":                {method: http.MethodPost, path: at + "/git-receive-pack", body: "0000"},
		"the object":            {method: http.MethodGet, path: object},
		"a watch":               {method: http.MethodGet, path: object + "?watch=true"},
		"a change":              {method: http.MethodPut, path: object, body: "{}"},
		"a deletion":            {method: http.MethodDelete, path: object},
		"an encoded name":       {method: http.MethodGet, path: strings.Replace(at, name, fmt.Sprintf("%%%x", name[0])+name[1:], 1) + refsOf},
		"dots":                  {method: http.MethodGet, path: beside + "/../../../../" + back},
		"encoded dots":          {method: http.MethodGet, path: beside + strings.Repeat("/%2e%2e", 4) + "/" + back},
		"encoded slashes":       {method: http.MethodGet, path: beside + "/" + strings.Repeat("..%2F", 4) + strings.ReplaceAll(back, "/", "%2F")},
		"a name with dots":      {method: http.MethodGet, path: strings.Replace(at, name, own+"%2F..%2F"+name, 1) + refsOf},
		"two slashes":           {method: http.MethodGet, path: strings.Replace(at, name, "/"+name, 1) + refsOf},
	}
}

// wants returns a request for the pack of a commit.
func wants(namespace, name, commit, protocol string) forgery {
	body := fmt.Sprintf("0032want %s\n00000009done\n", commit)
	if protocol != "" {
		body = fmt.Sprintf("0011command=fetch00010032want %s\n0009done\n0000", commit)
	}
	return forgery{method: http.MethodPost, path: source.Path(namespace, name) + "/git-upload-pack", body: body, protocol: protocol}
}

// answer sends the request with the identity of a cluster's agent. The returned text has the code and the body, and says
// whether the answer is whole. The secret of the request, a name or a commit, is replaced.
func (r forgery) answer(ctx context.Context, agentOf, secret string) string {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	code, text, err := sendAs(ctx, agentOf, r.method, r.path, strings.NewReader(r.body), r.protocol)
	return strings.ReplaceAll(fmt.Sprintf("%d %s, whole: %t", code, text, err == nil), secret, "SECRET")
}
