// Package events keeps the events of a mass of Applications from costing the hub more than the Applications do.
package events

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
)

// How many Normal events are recorded per second, and how many at once. An event is a write like that of the
// Application itself, and is kept in memory for minutes.
const (
	perSecond = 5
	burst     = 100
)

// Sparing is a recorder that leaves Normal events out when they come by the hundred, as in a rollout to a whole fleet.
// Warnings are always recorded.
func Sparing(recorder events.EventRecorder) events.EventRecorder {
	return &sparing{recorder, flowcontrol.NewTokenBucketPassiveRateLimiter(perSecond, burst)}
}

type sparing struct {
	recorder events.EventRecorder
	normal   flowcontrol.PassiveRateLimiter
}

// Eventf implements events.EventRecorder.
func (s *sparing) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	if eventType != corev1.EventTypeNormal || s.normal.TryAccept() {
		s.recorder.Eventf(regarding, related, eventType, reason, action, note, args...)
	}
}
