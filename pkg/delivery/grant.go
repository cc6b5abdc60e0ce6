package delivery

import (
	"errors"
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// unrendered says in the user's terms why an Application has no ManifestWork.
func unrendered(err error) verdict {
	if large, ok := errors.AsType[*work.TooLargeError](err); ok {
		return verdict{Words: large.Error() + ": move inline values and manifests into the Git repository, or split the Application"}
	}
	return verdict{Words: fmt.Sprintf("the Application cannot be read: %s: correct the field", err), Reason: apis.ReasonSpecInvalid}
}

// refused is a refusal of who gives rights.
func refused(r *authorization.Refusal) verdict {
	if r == nil {
		return pass
	}
	return verdict{Words: r.Message, Reason: r.Reason}
}

// checkSpec is for an Application of which cannot be read what it asks for.
func checkSpec(v *view) verdict {
	if v.Unreadable != nil {
		return unrendered(v.Unreadable)
	}
	return pass
}

// checkGrant is for an Application that may not go where its spec asks to go. The content of a work that was
// sent before stays: revoke and freeze look at what that one carries.
func checkGrant(v *view) verdict { return refused(v.Refused) }

func checkExecutor(v *view) verdict { return verdict{Words: v.ExecutorInvalid} }

// The notices of an operation that stays on the hub, and of an Application that cannot be put into a work.
var (
	operationForbidden = &Gate{Name: "operation grant", Type: forbidden, Quiet: true}
	operationUnread    = &Gate{Name: "operation", Type: problem, Reason: apis.ReasonOperationInvalid, Quiet: true}
	payloadInvalid     = &Gate{Name: "payload", Type: problem, Reason: apis.ReasonPayloadTooLarge, Quiet: true}
)

// withhold is why the requested operation of a permitted Application may not travel; nil when it may. The operation stays on the hub,
// so that it can be taken back or terminated, or go when it is permitted. Everything else of the Application goes on.
func (d *decision) withhold() *block {
	if d.App.Operation == nil {
		return nil
	}
	_, err := authorization.Read(d.App)
	if err == nil {
		_, err = relay.WithID(d.App.Operation.Raw, "") // the operation gets an identity when the work carries it
	}
	if err != nil {
		return d.plan.blockAt(operationUnread, unreadOperation(err))
	}
	if r := d.OperationRefused; r != nil {
		return d.plan.blockAt(operationForbidden,
			verdict{Words: "the requested operation is held back, and can be terminated: " + r.Message, Reason: r.Reason})
	}
	return nil
}

func unreadOperation(err error) verdict {
	return blockf("the requested operation cannot be read: %s: request it again", err)
}
