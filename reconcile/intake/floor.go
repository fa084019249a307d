package intake

import "gitops-agent/verify"

// baseline is the revision that a head has to descend from.
type baseline struct {
	verify.Base
	sequence  uint64
	fromFloor bool // the base is the cluster's floor, because the local state is missing or older
}
