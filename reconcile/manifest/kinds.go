package manifest

import (
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/policy"
)

// Vmids that Proxmox accepts.
const (
	minVMID = 100
	maxVMID = 999999999
)

const (
	apiGroup   = "proxmox.gitops/"
	apiVersion = apiGroup + "v1alpha1"

	kindCluster = "Cluster"
	kindClass   = "GuestClass"
	kindSet     = "GuestSet"
)

var kindNames = append([]string{kindCluster, kindClass, string(guest.VirtualMachine), string(guest.Container), kindSet, string(image.Kind), string(policy.Kind)}, objectKinds()...)

// APIVersion is the version of manifests.
const APIVersion = apiVersion

const maxDelay = 24 * time.Hour
