package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/reconcile/cluster"
)

// Names that become part of the path of a storage, and names of files that Proxmox stores as they are sent: it replaces other characters, and cuts
// off folders.
//
// Source: pve-storage, PVE/Storage.pm normalize_content_filename; PVE::JSONSchema parse_storage_id.
var (
	storageName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$`) })
	fileName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`) })
)

// contents are what a storage keeps files as that belong to no guest.
var contents = []string{"iso", "vztmpl", "import"}

func checkFilePlace(at cluster.FilePlace) error {
	switch {
	case !storageName().MatchString(at.Storage):
		return fmt.Errorf("%q is not a name of a storage", at.Storage)
	case !slices.Contains(contents, at.Content):
		return fmt.Errorf("%q is not a content of files", at.Content)
	}
	return checkNode(at.Node)
}

// Files lists the files of one content on a storage as the node shows them. It needs Datastore.Audit or Datastore.AllocateSpace on the storage. The list
// does not show where a file is from, nor its checksum.
//
// Source: PVE API, GET /nodes/{node}/storage/{storage}/content; PVE::Storage check_volume_access.
func (r *Reader) Files(ctx context.Context, at cluster.FilePlace) (map[string]int64, error) {
	if err := checkFilePlace(at); err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	path := "/nodes/" + at.Node + "/storage/" + at.Storage + "/content?content=" + at.Content
	rows, err := get[[]struct {
		Volume string        `json:"volid"`
		Size   reply.Integer `json:"size"`
	}](ctx, r, &exchange{route: routeContent, path: path, node: at.Node})
	if err != nil {
		return nil, fmt.Errorf("list files in %s on %s: %w", at.Storage, at.Node, err)
	}
	files := make(map[string]int64, len(rows))
	for _, row := range rows {
		files[row.Volume] = int64(row.Size)
	}
	return files, nil
}

// downloadParams are the parameters of a download apart from its place. Certificates of servers are always verified.
var downloadParams = []string{"storage", "content", "filename", "url", "checksum", "checksum-algorithm", "compression"}

// encodeDownload returns the exchange of a call that lets a node fetch a file. A call without a checksum is refused here: Proxmox would keep whatever the
// server sends.
//
// Source: PVE API, POST /nodes/{node}/storage/{storage}/download-url.
func encodeDownload(call cluster.Call) (*exchange, map[string]string, error) {
	params := maps.Clone(call.Params)
	at := cluster.FilePlace{Node: call.Node, Storage: params[cluster.ParamStorage], Content: params[cluster.ParamContent]}
	problems := []error{checkFilePlace(at), checkParams(params)}
	if !fileName().MatchString(params[cluster.ParamFile]) {
		problems = append(problems, fmt.Errorf("%q is a name that Proxmox would change", params[cluster.ParamFile]))
	}
	if params["checksum"] == "" || params["checksum-algorithm"] == "" {
		problems = append(problems, errors.New("a download needs a checksum and its algorithm"))
	}
	if address, err := url.Parse(params["url"]); err != nil || address.Scheme != "https" && address.Scheme != "http" || address.User != nil {
		problems = append(problems, errors.New("a download needs the URL of a web server, without credentials"))
	}
	for key := range params {
		if !slices.Contains(downloadParams, key) {
			problems = append(problems, fmt.Errorf("parameter %s is not allowed here", key))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, nil, err
	}
	delete(params, cluster.ParamStorage) // it is part of the path
	x := &exchange{node: call.Node}
	x.to(http.MethodPost, routeDownload, "/nodes/"+call.Node+"/storage/"+at.Storage+"/download-url")
	return x, params, nil
}
