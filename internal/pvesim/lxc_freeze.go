package pvesim

// freezeCT suspends or resumes a container with CRIU. Proxmox's package does not install CRIU, so the task always fails.
func freezeCT(typ, options string) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		return c.start(typ, c.vmid(), func(t *task) error {
			return t.runOnGuest(LXC, c.vmid(), func() error {
				g, err := c.ct()
				if err != nil {
					return err
				}
				if typ == "vzsuspend" {
					if err := checkRunning(g); err != nil {
						return err
					}
				}
				id := itoa(g.vmid)
				t.printf("lxc-checkpoint: %s: ../src/lxc/criu.c: criu_version_ok: 767 No such file or directory - execing criu failed, is it installed?", id)
				t.printf("lxc-checkpoint: %s: ../src/lxc/tools/lxc_checkpoint.c: checkpoint: 182 Checkpointing %s failed", id, id)
				return apiErrorf("command 'lxc-checkpoint -n %s %s' failed: exit code 1", id, options)
			})
		})
	}
}
