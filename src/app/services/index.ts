/**
 * Services: a whole pipeline from one configuration file, run in one process and operated from any other.
 *
 * Model. A configuration names services and resources by class. Two registries know the classes: what a
 * service needs (its ports) and how it is made; what a resource offers (its usages) and how it is opened.
 * A {@link ServiceManager} checks that they fit, before anything is opened; opens each resource once, for all;
 * makes the services and looks after them. A {@link ServiceBoard} shows them to other processes, which see and
 * operate them with a {@link ServiceControl}.
 *
 * ```
 *   configuration ──► ServiceManager ──► services ──ports──► resources
 *                          ▲ act, status
 *                     ServiceBoard ◄──rows and hints in PostgreSQL──► ServiceControl   (another process)
 * ```
 *
 * States are those of a Service: STOPPED, RUNNING, PAUSED, ERROR. What the restart policy adds: from ERROR, a
 * start by itself after a delay that doubles, a limited number of times in a row.
 *
 * Invariants. A service is in one state, and every action names the states that it fits. Wrong wiring starts
 * nothing. No service sees another's failure. Who opened a resource closes it: services never do.
 *
 * Failure. A service that fails, in its start too, is in ERROR with its reason, and its policy decides; the
 * others go on. A wrong option is final: a restart would only repeat it. A resource that can't be opened is
 * tried again with the restart. A service that does not stop in time is named in the report. A process that
 * dies is shown as lost after five missed heartbeats. A request that nobody took is taken back by who asked.
 */
export { builtInServices, indexerType, serviceType } from "./built-in.ts";
export { builtInResources } from "./built-in-resources.ts";
export { type ServiceTypes, wiringProblems } from "./check-wiring.ts";
export { type ServiceAction, type ServiceStatus, serviceActions } from "./managed-service.ts";
export {
  type BoundResources,
  optionalPort,
  type Port,
  type Ports,
  port,
  queuePort,
  topicPort,
  type UsageTypes,
} from "./port.ts";
export {
  type Binding,
  type OpenResource,
  type ResourceContext,
  ResourceRegistry,
  type ResourceType,
} from "./resource-registry.ts";
export { ServiceBoard, type ServiceBoardOptions } from "./service-board.ts";
export {
  type ServiceActionResult,
  ServiceControl,
  type ServiceRequestOptions,
  type SubmittedRequest,
} from "./service-control.ts";
export {
  type ServiceChangeListener,
  ServiceManager,
  type ServiceManagerOptions,
  type StopReport,
} from "./service-manager.ts";
export { type ServiceContext, ServiceRegistry, type ServiceType } from "./service-registry.ts";
export type { ListedManager, ListedService } from "./sql/list-managers.ts";
export { type TopicResourceOptions, topicResource } from "./topic-resource.ts";
