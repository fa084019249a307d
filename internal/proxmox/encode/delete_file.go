package encode

import (
	"errors"
	"fmt"
	"net/http"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// encodeDeleteFile returns the exchange of a call that lets a node delete a file. Proxmox deletes the file also if guests use it, and a file that is not there
// is no error. Without the parameter delay, it always answers with a task.
//
// Source: PVE API, DELETE /nodes/{node}/storage/{storage}/content/{volume}.
func encodeDeleteFile(call cluster.Call) (*wire.Exchange, map[string]string, error) {
	at := cluster.FilePlace{Node: call.Node, Storage: call.Params[cluster.ParamStorage], Content: call.Params[cluster.ParamContent]}
	problems := []error{CheckFilePlace(at)}
	if !fileName().MatchString(call.Params[cluster.ParamFile]) {
		problems = append(problems, fmt.Errorf("%q is not the name of a file", call.Params[cluster.ParamFile]))
	}
	if len(call.Params) != 3 {
		problems = append(problems, fmt.Errorf("got %d parameters, want the place and the name of a file", len(call.Params)))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, nil, err
	}
	x := &wire.Exchange{Node: call.Node}
	x.To(http.MethodDelete, route.Volume, "/nodes/"+call.Node+"/storage/"+at.Storage+"/content/"+call.File())
	return x, nil, nil
}
