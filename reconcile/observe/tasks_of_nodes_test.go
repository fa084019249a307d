package observe_test

import (
	"context"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/observe"
)

// taskLists answers from the tasks of one node, and counts the questions.
type taskLists struct {
	cluster.Reader
	tasks []cluster.Task
	asked *int
}

func (l taskLists) Tasks(_ context.Context, query cluster.TaskQuery) ([]cluster.Task, error) {
	*l.asked++
	var found []cluster.Task
	for _, t := range l.tasks {
		if query.VMID == 0 || t.VMID == query.VMID {
			found = append(found, t)
		}
	}
	return found[:min(len(found), cluster.MaxTasks)], nil
}

// TestTasksOfNodes asks for the tasks of fifty guests: a complete list of the node is read once, and for a list that is cut each guest is asked for.
func TestTasksOfNodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ each, asked int }{"complete": {30, 1}, "cut": {50, 51}} {
		asked := 0
		var tasks []cluster.Task
		for range test.each {
			for vmid := range 50 {
				tasks = append(tasks, cluster.Task{VMID: 100 + vmid})
			}
		}
		reader := observe.TasksOfNodes(taskLists{nil, tasks, &asked}, 50)
		for vmid := range 50 {
			list, err := reader.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1", VMID: 100 + vmid})
			if err != nil || len(list) != test.each {
				t.Errorf("%s: got %d tasks and %v, want %d", name, len(list), err, test.each)
			}
		}
		if asked != test.asked {
			t.Errorf("%s: got %d lists read, want %d", name, asked, test.asked)
		}
	}
}
