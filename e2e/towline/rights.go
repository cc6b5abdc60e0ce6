package towline

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
)

// RightsOf returns the rules of the roles bound to a subject, as "<verb> <resource>[/<subresource>][.<group>]".
func RightsOf(ctx context.Context, hub client.Reader, who func(rbacv1.Subject) bool) ([]string, error) {
	all, some := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	if err := hub.List(ctx, all); err != nil {
		return nil, err
	}
	if err := hub.List(ctx, some); err != nil {
		return nil, err
	}
	var refs []client.ObjectKey
	for _, b := range all.Items {
		if slices.ContainsFunc(b.Subjects, who) {
			refs = append(refs, client.ObjectKey{Name: b.RoleRef.Name})
		}
	}
	for _, b := range some.Items {
		switch {
		case !slices.ContainsFunc(b.Subjects, who):
		case b.RoleRef.Kind == "ClusterRole":
			refs = append(refs, client.ObjectKey{Name: b.RoleRef.Name})
		default:
			refs = append(refs, client.ObjectKey{Namespace: b.Namespace, Name: b.RoleRef.Name})
		}
	}
	var out []string
	for _, ref := range refs {
		rules, err := RulesOf(ctx, hub, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, rules...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// RulesOf returns the rules of a Role, or of a ClusterRole without a namespace, in the form of RightsOf.
func RulesOf(ctx context.Context, hub client.Reader, ref client.ObjectKey) ([]string, error) {
	role, all := &rbacv1.Role{}, &rbacv1.ClusterRole{}
	var of client.Object = role
	if ref.Namespace == "" {
		of = all
	}
	if err := hub.Get(ctx, ref, of); err != nil {
		return nil, err
	}
	var out []string
	for _, rule := range slices.Concat(role.Rules, all.Rules) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out = append(out, right(verb, resource, group))
				}
			}
		}
	}
	return out, nil
}

func right(verb, resource, group string) string {
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

// Account returns whether a subject is a ServiceAccount.
func Account(namespace, name string) func(rbacv1.Subject) bool {
	return func(s rbacv1.Subject) bool {
		return s.Kind == "ServiceAccount" && s.Namespace == namespace && s.Name == name
	}
}

// Audited yields the lines of the hub's audit log, with the rotated parts of the log.
func Audited(f *fleet.Fleet) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		files, err := filepath.Glob(strings.TrimSuffix(f.Hub.AuditLog(), ".log") + "*.log")
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range files {
			file, err := os.Open(name)
			if err != nil {
				yield(nil, err)
				return
			}
			defer file.Close()
			lines := bufio.NewScanner(file)
			lines.Buffer(nil, 16<<20)
			for lines.Scan() {
				if !yield(lines.Bytes(), nil) {
					return
				}
			}
			if err := lines.Err(); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// Requests are the requests of users in the audit log, in the form of RightsOf.
type Requests struct{ Permitted, Refused []string }

// RequestsOf returns the requests of users in the audit log.
func RequestsOf(f *fleet.Fleet, did func(user string) bool) (Requests, error) {
	permitted, refused := map[string]bool{}, map[string]bool{}
	for line, err := range Audited(f) {
		if err != nil {
			return Requests{}, err
		}
		var e struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef *struct{ Resource, Subresource, APIGroup string }
			// ResponseStatus is missing while a watch runs.
			ResponseStatus *struct{ Code int }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return Requests{}, err
		}
		if e.ObjectRef == nil || !did(e.User.Username) {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		if e.ResponseStatus != nil && e.ResponseStatus.Code == 403 {
			refused[right(e.Verb, resource, e.ObjectRef.APIGroup)] = true
			continue
		}
		permitted[right(e.Verb, resource, e.ObjectRef.APIGroup)] = true
		// A watch of this client-go lists first: as a part of the watch if the API server streams lists, and otherwise by a
		// separate request.
		if e.Verb == "watch" {
			permitted[right("list", resource, e.ObjectRef.APIGroup)] = true
		}
	}
	return Requests{Permitted: sorted(permitted), Refused: sorted(refused)}, nil
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
