package loop

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
)

// The limits of Normal events: perSecond on average, and burst at once. An event is a write as large as a write of the
// Application, and the hub keeps the event in memory for minutes.
const (
	perSecond = 5
	burst     = 100
)

// LimitEvents returns a recorder that drops Normal events beyond the limit, as in a rollout to a whole fleet. Warnings
// are always recorded. Without a limit, the events would cost the hub more than the Applications.
func LimitEvents(recorder events.EventRecorder) events.EventRecorder {
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
