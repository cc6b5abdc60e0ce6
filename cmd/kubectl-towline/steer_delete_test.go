package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/steer"
	"github.com/towline-io/towline/pkg/why"
)

// TestDeleteRefused checks that a user without the right to delete does not change finalizers.
func TestDeleteRefused(t *testing.T) {
	space(t, "refused")
	one := app(t, fixture.Application("one").Namespace("refused"))
	may(t, "patches", "refused", rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"},
		Verbs: []string{"get", "patch"}})
	for _, args := range [][]string{{}, {"--dry-run=server"}} {
		s := as(t, "patches", "", append(args, "delete", "one", "-n", "refused", "--yes", "--cascade", "--force")...)
		if got := now(t, one); s.code != exitUnread || !strings.Contains(s.out, "cannot delete resource") || got.ResourceVersion != one.ResourceVersion {
			t.Errorf("%+v, %+v", s, got.ObjectMeta)
		}
	}
}

// lateRefusal refuses a deletion, but not the dry run before.
type lateRefusal struct {
	client.Client
}

// Delete implements client.Writer.
func (c lateRefusal) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := (&client.DeleteOptions{}).ApplyOptions(opts)
	if len(o.DryRun) == 0 {
		return errors.New("a webhook said no")
	}
	return c.Client.Delete(ctx, obj, opts...)
}

// TestDeleteFailsLate checks that the error tells what was written before.
func TestDeleteFailsLate(t *testing.T) {
	space(t, "late")
	one := app(t, fixture.Application("one").Namespace("late"))
	o := &verbOptions{
		options: newOptions(genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}), yes: true, dryRun: "none",
		request: steer.Request{Verb: steer.Delete, Cascade: ptr.To(true)},
	}
	r, _ := o.one(t.Context(), &hub{Client: lateRefusal{admin}}, client.ObjectKeyFromObject(one))
	if r.State != why.Blocked || r.Message !=
		"the settings of --cascade and --force are on the Application, but the deletion failed: a webhook said no" {
		t.Errorf("got %+v", r)
	}
	if got := now(t, one); !argocd.Destroys(got.Finalizers) || got.DeletionTimestamp != nil {
		t.Errorf("got %+v", got.ObjectMeta)
	}
}
