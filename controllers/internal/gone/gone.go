// Package gone tells what an API server's answer proves.
package gone

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Is tells whether the API server said that this one object does not exist. When the whole resource is not served,
// because the CRD is gone for the moment, the answer is a 404 as well, and says nothing about the object.
func Is(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
