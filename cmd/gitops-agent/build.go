package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"gitops-agent/metrics"
)

// thisBuild reads the version, commit and Go release from the binary. Version is "(devel)" if the toolchain recorded none.
func thisBuild() metrics.Build {
	build := metrics.Build{Version: "(devel)", Commit: "unknown", GoVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	build.Version = cmp.Or(info.Main.Version, build.Version)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			build.Commit = s.Value
		}
	}
	return build
}
