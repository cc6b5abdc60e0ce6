package bench

import "slices"

// figuresOfCost returns the figures of each kind of delivery with a real work agent.
func figuresOfCost() []Figure {
	var out []Figure
	for _, kind := range []string{"plain", "watched", "towline"} {
		add := func(name, title, unit string, digits int) {
			out = append(out, Figure{kind + "." + name, kind + ": " + title, unit, digits})
		}
		add("deliver.seconds", "delivery, until all are on the cluster", "s", 1)
		add("deliver.available", "… and reported", "s", 1)
		add("delete.seconds", "deletion, until none is on the cluster", "s", 1)
		add("delete.works", "… and no work is left", "s", 1)
		for _, phase := range []string{"change", "row", "burst"} {
			for _, p := range []string{"p50", "p99", "max"} {
				add(phase+"."+p, phase+", until the hub shows it, "+p, "ms", 0)
			}
		}
		for _, phase := range []string{"deliver", "first", "change", "row", "burst", "compare", "rest", "delete"} {
			add(phase+".cpu", phase+", CPU of the agent", "s", 2)
			add(phase+".controller_cpu", "… CPU of Towline", "s", 2)
			add(phase+".memory", "… memory of the agent", "MiB", 0)
			add(phase+".work_writes", "… writes of works", "", 0)
			add(phase+".report_writes", "… of their statuses", "", 0)
			add(phase+".application_writes", "… of Applications", "", 0)
			add(phase+".conflicts", "… works and statuses refused with 409", "", 0)
			add(phase+".cluster_applications", "… requests for Applications on the cluster", "", 0)
			add(phase+".cluster_applied", "… for AppliedManifestWorks on the cluster", "", 0)
		}
	}
	return slices.Clip(out)
}
