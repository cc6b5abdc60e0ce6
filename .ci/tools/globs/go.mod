// The library of Argo CD 3.6 for patterns.
module github.com/towline-io/towline/.ci/tools/globs

go 1.26.0

require github.com/gobwas/glob v1.0.0
