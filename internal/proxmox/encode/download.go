package encode

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
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

// CheckFilePlace rejects a place whose path would not be the path of files on a storage.
func CheckFilePlace(at cluster.FilePlace) error {
	switch {
	case !storageName().MatchString(at.Storage):
		return fmt.Errorf("%q is not a name of a storage", at.Storage)
	case !slices.Contains(contents, at.Content):
		return fmt.Errorf("%q is not a content of files", at.Content)
	}
	return route.CheckNode(at.Node)
}

// downloadParams are the parameters of a download apart from its place. Certificates of servers are always verified.
var downloadParams = []string{"storage", "content", "filename", "url", "checksum", "checksum-algorithm", "compression"}

// encodeDownload returns the exchange of a call that lets a node fetch a file. A call without a checksum is refused here: Proxmox would keep anything that the
// server sends.
//
// Source: PVE API, POST /nodes/{node}/storage/{storage}/download-url.
func encodeDownload(call cluster.Call) (*wire.Exchange, map[string]string, error) {
	params := maps.Clone(call.Params)
	at := cluster.FilePlace{Node: call.Node, Storage: params[cluster.ParamStorage], Content: params[cluster.ParamContent]}
	problems := []error{CheckFilePlace(at), CheckParams(params)}
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
	x := &wire.Exchange{Node: call.Node}
	x.To(http.MethodPost, route.Download, "/nodes/"+call.Node+"/storage/"+at.Storage+"/download-url")
	return x, params, nil
}
