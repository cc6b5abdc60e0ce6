package bench

import "slices"

// hubProcesses are the processes of a hub. Each process has separate figures.
var hubProcesses = []string{"kube-apiserver", "etcd", postgres, "pgbouncer", "mosquitto", "maestro", processMaestro, processTowline}

// Figure is a measured value.
type Figure struct {
	// Name is the figure's name in thresholds and results.
	Name string

	// Title and Unit are for people.
	Title, Unit string

	// Digits is the number of shown digits after the point.
	Digits int
}

// Figures are all figures, in the order of a table.
var Figures = slices.Concat(figuresOfRun, figuresOfProcesses(), figuresOfCost())

var figuresOfRun = []Figure{
	{"limit.rate", "bare client: creates of the same ManifestWorks", "1/s", 0},
	{"limit.applications", "bare client: creates of the Applications", "1/s", 0},
	{"roundtrip.p50", "bare client: a write, until its own watch shows it, p50", "ms", 1},
	{"roundtrip.p99", "… p99", "ms", 1},
	{"roundtrip.max", "… max", "ms", 1},
	{"rollout.rate", "Applications made and propagated at the same time", "1/s", 0},
	{"rollout.share", "… as a share of the bare client's creates", "", 2},
	{"rollout.share_of_both", "… as a share of its creating both", "", 2},
	{"rollout.cpu", "… CPU of Towline for each", "ms", 2},
	{"half.status.p50", "one change, with half of the Applications: until the hub's status shows it, p50", "ms", 0},
	{"half.status.p99", "… p99", "ms", 0},
	{"half.status.max", "… max", "ms", 0},
	{"half.report.p50", "… until the report shows it, p50", "ms", 0},
	{"half.report.p99", "… p99", "ms", 0},
	{"half.report.max", "… max", "ms", 0},
	{"backlog.rate", "Applications that were there, propagated", "1/s", 0},
	{"backlog.share", "… as a share of the bare client's creates", "", 2},
	{"backlog.cpu", "… CPU of Towline for each, its start included", "ms", 2},
	{"rollout.reported", "Applications made, delivered and reported at the same time", "1/s", 0},
	{"convergence.rate", "Applications whose first status reached the hub", "1/s", 0},
	{"convergence.cpu", "… CPU of Towline for each", "ms", 2},
	{"convergence.application_writes", "… Application writes for each", "", 2},
	{"convergence.work_writes", "… ManifestWork writes for each, of Towline", "", 2},
	{"convergence.report_bytes", "… bytes of reports for each", "B", 0},
	{"freshness.status.p50", "one change: until the hub's status shows it, p50", "ms", 0},
	{"freshness.status.p99", "… p99", "ms", 0},
	{"freshness.status.max", "… max", "ms", 0},
	{"freshness.report.p50", "one change: until the report shows it, p50", "ms", 0},
	{"freshness.report.p99", "… p99", "ms", 0},
	{"freshness.report.max", "… max", "ms", 0},
	{"change.application_writes", "one change: Application writes", "", 2},
	{"change.report_writes", "… report writes", "", 2},
	{"change.other_writes", "… other writes", "", 2},
	{"change.lists", "… lists", "", 2},
	{"change.reads", "… reads", "", 2},
	{"change.application_bytes", "… bytes written to the Application", "B", 0},
	{"change.report_bytes", "… bytes written to the report", "B", 0},
	{"change.cpu", "… CPU of Towline", "ms", 1},
	{"change.hub_cpu", "… CPU of kube-apiserver and etcd", "ms", 1},
	{"change.cpu_all", "… CPU of all processes of the hub", "ms", 1},
	{"sync.application_writes", "one sync of a cluster's own: Application writes", "", 2},
	{"sync.work_writes", "… ManifestWork writes of Towline", "", 2},
	{"sync.work_conflicts", "… which the agent's report was ahead of, and which are made again", "", 2},
	{"sync.agent_writes", "… and of the work agent", "", 2},
	{"sync.report_writes", "… report writes", "", 2},
	{"storm.rate", "storm: changes", "1/s", 0},
	{"storm.status.p50", "… until the hub's status shows it, p50", "ms", 0},
	{"storm.status.p99", "… p99", "ms", 0},
	{"storm.status.max", "… max", "ms", 0},
	{"storm.report.p50", "… until the report shows it, p50", "ms", 0},
	{"storm.report.p99", "… p99", "ms", 0},
	{"storm.report.max", "… max", "ms", 0},
	{"storm.application_writes", "… Application writes for each", "", 2},
	{"storm.report_bytes", "… reports written", "MiB/s", 2},
	{"storm.report_bytes_per_set", "… for each ApplicationSet", "MiB/s", 2},
	{"idle.writes", "idle: writes", "", 0},
	{"idle.comparisons", "… while clusters compared Applications so often", "", 0},
	{"idle.lists", "… lists", "", 0},
	{"idle.cpu", "… CPU of Towline", "% of a core", 2},
	{"restart.writes", "restart: writes", "", 0},
	{"restart.ready", "… until it is ready", "s", 1},
	{"restart.settled", "… until it has looked at everything", "s", 1},
	{"restart.cpu", "… CPU until then", "s", 1},
	{"restart.works", "restart of what serves the works too: until it serves them", "s", 1},
	{"restart.all_ready", "… until Towline is ready", "s", 1},
	{"restart.all_writes", "… writes", "", 0},
	{"memory.empty", "memory (RSS) without Applications", "MiB", 0},
	{"memory.converged", "… when all have converged", "MiB", 0},
	{"memory.converged_each", "… more than without, for each Application", "KiB", 1},
	{"memory.idle", "… after the idle time", "MiB", 0},
	{"memory.idle_each", "… more than without, for each Application", "KiB", 1},
	{"memory.restart", "… after a restart", "MiB", 0},
	{"memory.restart_each", "… more than without, for each Application", "KiB", 1},
	{"memory.restart_peak", "… at most during a restart", "MiB", 0},
	{"memory.hostile", "… once so many works report statuses as large as can be", "MiB", 0},
	{"memory.hostile_restart_peak", "… at most during a restart then", "MiB", 0},
	{"storage.of_application", "stored: an Application", "B", 0},
	{"storage.of_work", "… its ManifestWork", "B", 0},
	{"storage.of_row", "… its row in the report", "B", 0},
	{"storage.of_bundle", "… the row of its ManifestWork in Maestro's database", "B", 0},
	{"storage.database", "Maestro's database for each Application", "KiB", 1},
	{"storage.application", "etcd's file for each Application, with all of its history", "KiB", 1},
}

// figuresOfProcesses returns the figures of each process of a hub.
func figuresOfProcesses() []Figure {
	var out []Figure
	for _, f := range []Figure{
		{"change.cpu.", "one change: CPU of ", "ms", 1},
		{"half.memory.", "memory (RSS) with half of the Applications: ", "MiB", 0},
		{"converged.memory.", "memory (RSS) when all have converged: ", "MiB", 0},
		{"idle.memory.", "memory (RSS) after the idle time: ", "MiB", 0},
	} {
		for _, process := range hubProcesses {
			out = append(out, Figure{f.Name + process, f.Title + process, f.Unit, f.Digits})
		}
	}
	return out
}

// isFigure returns whether a figure with the given name exists.
func isFigure(name string) bool {
	return slices.ContainsFunc(Figures, func(f Figure) bool { return f.Name == name })
}
