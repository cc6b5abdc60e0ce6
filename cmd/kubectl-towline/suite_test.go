package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/towline-io/towline/pkg/fixture/apiserver"
	"github.com/towline-io/towline/pkg/reading"
)

// The API server of the tests.
var (
	env   = &envtest.Environment{}
	admin client.Client
)

// TestMain runs all tests against a single API server.
func TestMain(m *testing.M) {
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (int, error) {
	quiet()
	var err error
	if env.CRDs, err = apiserver.CRDs("../.."); err != nil {
		return 1, err
	}
	config, err := env.Start()
	if err != nil {
		return 1, err
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	scheme, err := reading.Scheme()
	if err != nil {
		return 1, err
	}
	for _, add := range []func(*runtime.Scheme) error{rbacv1.AddToScheme, coordinationv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// said is the output and the exit code of a command.
type said struct {
	out, errOut string
	code        int
}

// as runs a command as a user; "" is the administrator.
func as(t *testing.T, user, in string, args ...string) said {
	t.Helper()
	return answering(t, user, strings.NewReader(in), args...)
}

// answering runs a command as a user with answers to the prompts.
func answering(t *testing.T, user string, in io.Reader, args ...string) said {
	t.Helper()
	name, groups := "admin", []string{"system:masters"}
	if user != "" {
		name, groups = user, nil
	}
	u, err := env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := u.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	cmd := newCommand(genericiooptions.IOStreams{In: in, Out: &out, ErrOut: &errOut})
	cmd.SetArgs(append([]string{"--kubeconfig", file}, args...))
	code := exitCode(cmd.ExecuteContext(t.Context()), &errOut)
	return said{out.String(), errOut.String(), code}
}

// create creates objects, and removes them at the end of the test.
func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx := context.Background()
			if err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return
			}
			obj.SetFinalizers(nil)
			_ = client.IgnoreNotFound(admin.Update(ctx, obj))
			_ = client.IgnoreNotFound(admin.Delete(ctx, obj))
			if ns, is := obj.(*corev1.Namespace); is {
				finish(ctx, t, ns)
			}
		})
	}
}

// finish finalizes a namespace being deleted, as its controller would. The API server alone does not finish the
// deletion, and the next run of the test needs the name.
func finish(ctx context.Context, t *testing.T, ns *corev1.Namespace) {
	t.Helper()
	err := admin.Get(ctx, client.ObjectKeyFromObject(ns), ns)
	if err == nil {
		ns.Spec.Finalizers = nil
		err = admin.SubResource("finalize").Update(ctx, ns)
	}
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("namespace %s does not go: %v", ns.Name, err)
	}
}

// may gives a user rights in a namespace, and waits until the API server knows the rights.
func may(t *testing.T, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
	create(t, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: *meta.DeepCopy(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Group: rules[0].APIGroups[0], Resource: rules[0].Resources[0], Verb: rules[0].Verbs[0],
		}}}
	NewWithT(t).Eventually(func() (bool, error) {
		err := admin.Create(t.Context(), review)
		return review.Status.Allowed, err
	}, 20*time.Second, 20*time.Millisecond).Should(BeTrue())
}
