package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/report"
)

// The report says which tags a guest has and on which guests it depends. The ownership marker is not one of its tags.
func TestReportNamesTagsAndDependencies(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["db.yaml"] = vmYAML("db-1", 202, "tags: [Prod, db]")
		l.files["web.yaml"] = vmYAML("web-1", 201, "dependsOn: [VirtualMachine/db-1]")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		r := l.engine.Report()
		if diff := cmp.Diff([]string{"db", "prod"}, l.guest(r, 202).Tags); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"VirtualMachine/db-1"}, l.guest(r, 201).DependsOn); diff != "" {
			t.Errorf("dependencies (-want +got):\n%s", diff)
		}
		values := l.engine.Values(l.guest(r, 202))
		tags := slices.IndexFunc(values, func(v report.Value) bool { return v.Key == "tags" })
		if tags < 0 || values[tags].Desired == "" || !strings.Contains(values[tags].Live, "gitops-") || !strings.HasPrefix(values[tags].Origin, "db.yaml:") {
			t.Errorf("got values %+v, want the wanted and the live tags with the line of the manifest", values)
		}
	})
}
