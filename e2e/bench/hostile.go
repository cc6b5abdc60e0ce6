package bench

import (
	"context"
	"strconv"
	"strings"
)

// hostileStatus is about the maximum size of a work's status in bytes. The API server accepts 1.5 MiB in a request, and
// the rest of the work needs space too.
const hostileStatus = 1_300_000

// hostile lets clusters report statuses of the maximum size, and measures Towline's memory: when the reports come, and
// after a start of Towline on a hub with all reports.
func (b *Bench) hostile(ctx context.Context) error {
	n := min(b.Hostile, b.applications())
	if n == 0 {
		return nil
	}
	if err := each(ctx, n, b.Agents, func(ctx context.Context, app int) error {
		w := b.work(app)
		return b.agents.report(ctx, w, floodedStatus(w, b.name(app)))
	}); err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	resident, err := b.resident("VmRSS")
	if err != nil {
		return err
	}
	b.result.set("memory.hostile", resident)
	b.stopTowline()
	if err := b.startTowline(ctx); err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	peak, err := b.resident("VmHWM")
	if err != nil {
		return err
	}
	b.result.set("memory.hostile_restart_peak", peak)
	return nil
}

// floodedStatus returns a status with many entries in all of its lists.
func floodedStatus(w *manifestWork, app string) object {
	const text, fields = 1000, 200
	share := hostileStatus / (text + fields) / 3
	of := func(o func(number, text string) object) []object {
		out := make([]object, share)
		for i := range out {
			out[i] = o(strconv.Itoa(i), strings.Repeat(string(rune('a'+i%26)), text))
		}
		return out
	}
	status := workStatus(w, app, &there{version: 1})
	manifest := status["resourceStatus"].(object)["manifests"].([]object)[0]
	manifest["statusFeedback"] = object{"values": of(func(number, s string) object {
		return object{"name": "value" + number, "fieldValue": object{"type": "String", "string": s}}
	})}
	manifest["conditions"] = of(func(number, s string) object { return condition("Available"+number, "ResourceAvailable", s, 0) })
	others := of(func(number, s string) object {
		return object{"conditions": []object{}, "resourceMeta": object{
			"group": "argoproj.io", "kind": "Application", "name": app + number, "namespace": s, "ordinal": 1,
			"resource": "applications", "version": "v1alpha1",
		}}
	})
	status["resourceStatus"] = object{"manifests": append([]object{manifest}, others...)}
	return status
}
