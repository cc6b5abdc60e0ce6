package delivery

import (
	"errors"
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// unrendered returns the block of an Application that a ManifestWork cannot carry.
func unrendered(err error) block {
	b := blockFor(apis.ReasonSpecInvalid, fmt.Sprintf("the Application cannot be read: %s: correct the field", err))
	if large, ok := errors.AsType[*work.TooLargeError](err); ok {
		b = blockFor(apis.ReasonPayloadTooLarge, large.Error()+": move inline values and manifests into the Git repository, or split the Application")
	}
	b.Type = problem
	return b
}

// refused returns the block of a refusal, with the text for the administrator who grants rights.
func refused(r *authorization.Refusal) block {
	if r == nil {
		return pass
	}
	return blockFor(r.Reason, r.Message)
}

// checkSpec blocks an Application with an unreadable spec.
func checkSpec(v *view) block {
	if v.Unreadable != nil {
		return unrendered(v.Unreadable)
	}
	return pass
}

// checkGrant blocks an Application without the right to its target. The content of an existing work stays: revoke and
// freeze check the content of the work.
func checkGrant(v *view) block { return refused(v.Refused) }

func checkExecutor(v *view) block { return blockFor("", v.ExecutorInvalid) }

// Notices about an operation that stays on the hub, and about an Application that does not fit into a work.
var (
	operationForbidden = &Gate{Name: "operation grant", Type: forbidden}
	operationUnread    = &Gate{Name: "operation", Type: problem, Reason: apis.ReasonOperationInvalid}
	payloadInvalid     = &Gate{Name: "payload", Type: problem, Reason: apis.ReasonPayloadTooLarge}
)

// withhold returns why the requested operation of a permitted Application is not sent: the operation is unreadable, not
// permitted, or has sources that do not come through the hub. The result is nil for an operation to send, and without an
// operation. A withheld operation stays on the hub. A user can withdraw or terminate the operation, and a later
// permission sends the operation. All other changes of the Application continue.
func (d *decision) withhold() *block {
	if d.App.Operation == nil {
		return nil
	}
	_, err := authorization.Read(d.App)
	if err == nil {
		_, err = relay.WithID(d.App.Operation.Raw, "") // the operation gets an identity when the work carries the operation
	}
	if err != nil {
		return d.plan.blockAt(operationUnread, blockf(unreadOperation, err))
	}
	if r := d.OperationRefused; r != nil {
		return d.plan.blockAt(operationForbidden, blockFor(r.Reason, "the requested operation is not sent, and can be terminated: "+r.Message))
	}
	if words := foreignSource(d.App); words != "" {
		return d.plan.blockAt(operationUnread, blockFor(apis.ReasonSourceUnsupported, words))
	}
	return nil
}

// unreadOperation is the message about an unreadable operation.
const unreadOperation = "the requested operation cannot be read: %s: request the operation again"
