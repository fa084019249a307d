package proxmox

// apiBase is the path of the JSON format of the API on every endpoint.
const apiBase = "/api2/json"

// Routes are paths with their variables named. They are the labels of metrics.
const (
	routeVersion     = "/version"
	routePermissions = "/access/permissions"
	routeResources   = "/cluster/resources"
	routeClusterInfo = "/cluster/status"
	routeNodes       = "/nodes"
	routeNextID      = "/cluster/nextid"
	routeHAResources = "/cluster/ha/resources"
	routeHAResource  = "/cluster/ha/resources/{sid}"
	routePools       = "/pools"
	routeGuests      = "/nodes/{node}/{kind}"
	routeGuest       = "/nodes/{node}/{kind}/{vmid}"
	routePending     = routeGuest + "/pending"
	routeConfig      = routeGuest + "/config"
	routeResize      = routeGuest + "/resize"
	routeMoveDisk    = routeGuest + "/move_disk"
	routeMoveVolume  = routeGuest + "/move_volume"
	routeCloudInit   = routeGuest + "/cloudinit"
	routeMigrate     = routeGuest + "/migrate"
	routeTemplate    = routeGuest + "/template"
	routeClone       = routeGuest + "/clone"
	routeCurrent     = routeGuest + "/status/current"
	routeStart       = routeGuest + "/status/start"
	routeReboot      = routeGuest + "/status/reboot"
	routeShutdown    = routeGuest + "/status/shutdown"
	routeStop        = routeGuest + "/status/stop"
	routeTasks       = "/nodes/{node}/tasks"
	routeTaskStatus  = "/nodes/{node}/tasks/{upid}/status"
	routeTaskLog     = "/nodes/{node}/tasks/{upid}/log"
	routeOther       = "other"
)
