package hub

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsAbsent returns true if the API server said: the single object does not exist. An API server without the resource,
// for example while the CRD is missing, answers 404 too. The 404 then says nothing about the object.
func IsAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
