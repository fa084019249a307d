package image

import (
	"cmp"

	"gitops-agent/reconcile/guest"
)

// Privileges returns the privileges that the token needs to list and to download the file of an Image, and to delete former ones if the manifest says so.
//
// Source: PVE API, permissions of GET /nodes/{node}/storage/{storage}/content and of POST /nodes/{node}/storage/{storage}/download-url. Sys.Audit
// together with Sys.Modify on / would do as well for the download; both allow more than is needed, so they are not named as an alternative.
func Privileges(d Desired) []guest.Need {
	storage, url := "/storage/"+d.Storage, cmp.Or(d.Places.URL, d.Origin)
	needs := []guest.Need{
		{Path: storage, Privilege: "Datastore.Audit", Or: "Datastore.AllocateSpace", Key: "storage", Origin: cmp.Or(d.Places.Storage, d.Origin)},
		{Path: storage, Privilege: "Datastore.AllocateTemplate", Key: "url", Origin: url},
	}
	if d.Prune {
		needs = append(needs, deletion(d.Storage, d.Origin)...)
	}
	if len(d.Nodes) == 0 {
		return append(needs, guest.Need{Path: "/nodes", Privilege: "Sys.AccessNetwork", Key: "url", Origin: url})
	}
	for _, node := range d.Nodes {
		needs = append(needs, guest.Need{Path: "/nodes/" + node, Privilege: "Sys.AccessNetwork", Key: "url", Origin: url})
	}
	return needs
}

// DeletionPrivileges returns the privileges that the token needs to list and to delete a former file of an Image on a storage.
func DeletionPrivileges(storage string) []guest.Need {
	list := guest.Need{Path: "/storage/" + storage, Privilege: "Datastore.Audit", Or: "Datastore.AllocateSpace", Key: "storage"}
	return append([]guest.Need{list}, deletion(storage, guest.Origin{})...)
}

// deletion returns what a deletion needs: the call, and that every guest is visible, since any guest may use the file.
//
// Source: PVE API, permissions of DELETE /nodes/{node}/storage/{storage}/content/{volume}.
func deletion(storage string, origin guest.Origin) []guest.Need {
	return []guest.Need{
		{Path: "/storage/" + storage, Privilege: "Datastore.Allocate", Key: "prune", Origin: origin},
		{Path: "/vms", Privilege: "VM.Audit", Key: "prune", Origin: origin},
	}
}
