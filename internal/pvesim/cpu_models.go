package pvesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// intelCPUs, amdCPUs and plainCPUs are the CPU models of x86_64, grouped by the vendor that a guest sees. abstractCPUs are the profiles
// that Proxmox defines.
var (
	intelCPUs = strings.Fields(`486 Broadwell Broadwell-IBRS Broadwell-noTSX Broadwell-noTSX-IBRS Cascadelake-Server
		Cascadelake-Server-noTSX Conroe Cooperlake GraniteRapids Haswell Haswell-IBRS Haswell-noTSX Haswell-noTSX-IBRS Icelake-Client
		Icelake-Server IvyBridge IvyBridge-IBRS KnightsMill Nehalem Nehalem-IBRS Penryn SandyBridge SandyBridge-IBRS SapphireRapids
		SierraForest Skylake-Client Skylake-Client-IBRS Skylake-Client-noTSX-IBRS Skylake-Server Skylake-Server-IBRS
		Skylake-Server-noTSX-IBRS Westmere Westmere-IBRS core2duo coreduo pentium pentium2 pentium3`)
	amdCPUs = strings.Fields(`EPYC EPYC-IBPB EPYC-Milan EPYC-Rome EPYC-Genoa Opteron_G1 Opteron_G2 Opteron_G3 Opteron_G4 Opteron_G5
		athlon phenom`)
	plainCPUs    = strings.Fields("host kvm32 kvm64 max qemu32 qemu64")
	abstractCPUs = strings.Fields("x86-64-v2 x86-64-v2-AES x86-64-v3 x86-64-v4")
	armCPUs      = strings.Fields("a64fx cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a710 cortex-a72 cortex-a76 neoverse-n1 neoverse-n2 neoverse-v1")
)

func isBuiltinCPU(model string) bool {
	return slices.ContainsFunc([][]string{intelCPUs, amdCPUs, plainCPUs, abstractCPUs}, func(list []string) bool { return slices.Contains(list, model) })
}

// cpuModels lists the CPU models of VMs to every caller. The cluster has no custom models.
//
// Source: PVE::API2::Qemu::CPU index.
func cpuModels(c *call) (reply, error) {
	var a array
	add := func(vendor string, models ...string) {
		for _, model := range models {
			o := &object{}
			o.str("name", model)
			o.num("custom", 0)
			o.str("vendor", vendor)
			if slices.Contains(abstractCPUs, model) {
				o.num("abstract", 1)
			}
			a.add(o)
		}
	}
	if c.params["arch"] == "aarch64" {
		add("ARM", armCPUs...)
		add("default", "max")
		return dataReply(a.bytes())
	}
	add("GenuineIntel", intelCPUs...)
	add("AuthenticAMD", amdCPUs...)
	add("default", plainCPUs...)
	add("default", abstractCPUs...)
	return dataReply(a.bytes())
}

// cpuFlag matches a flag that is added or removed.
//
// Source: PVE::QemuServer::CPUConfig cpu_flag_any_re.
const cpuFlag = `[+-][a-zA-Z0-9\-_.]+`

func checkCPU(s string) error {
	p := propertyString{
		"cputype": text().asDefaultKey(), "flags": matching(cpuFlag + `(;` + cpuFlag + `)*`), "hidden": boolean(),
		"hv-vendor-id": matching(`[a-zA-Z0-9]{1,12}`), "phys-bits": text(),
		"reported-model": text(), "level": integer(), "guest-phys-bits": integer(),
	}
	v, err := p.parse("cpu", s)
	if err != nil {
		return err
	}
	cpu, given := v["cputype"]
	custom, isCustom := strings.CutPrefix(cpu, "custom-")
	switch {
	case !given:
		return errors.New("CPU is missing cputype")
	case isCustom:
		return fmt.Errorf("Custom cputype '%s' not found", custom) //nolint:staticcheck // Proxmox's text
	case !isBuiltinCPU(cpu):
		return fmt.Errorf("Built-in cputype '%s' is not defined (missing 'custom-' prefix?)", cpu) //nolint:staticcheck // Proxmox's text
	}
	return nil
}
