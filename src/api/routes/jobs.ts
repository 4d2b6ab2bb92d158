import { Type } from "typebox";
import { type JobInfo, type JobStore, jobNotFound } from "../../scheduler/index.ts";
import { shownPayload } from "../payloads.ts";
import { action, closed, route } from "../route.ts";
import { Limit, limitDefault, Name, page, Reason, Timestamp, toPage, Uuid } from "../schemas.ts";
import { ChangedJob, Fire, Job, JobStatusText, NewJob, toChanges, toDefinition } from "./job-schemas.ts";

const nextDefault = 10;
const nextMax = 1_000;

/** A fire's time, and whether somebody ran it by hand. */
const FireCursor = Type.Optional(
  Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z(/manual)?$" }),
);

const OneJob = Type.Object({ key: Name }, closed);
const JustReason = Type.Object({ reason: Reason }, closed);

/** Jobs: what fires when. Their keys may have any characters, so they come URL-encoded. */
export const jobRoutes = {
  "GET /api/jobs": route(
    {
      summary: "List jobs in the order of their keys",
      role: "read",
      query: Type.Object(
        { status: Type.Optional(JobStatusText), limit: Limit, cursor: Type.Optional(Name) },
        closed,
      ),
      data: page(Job),
    },
    async ({ scheduler }, { query: { limit = limitDefault, ...query } }) =>
      toPage(await scheduler.jobs.list({ ...query, limit }), limit, ({ key }) => key),
  ),

  "POST /api/jobs": action(
    {
      summary: "Add a job: a schedule, and the command or batch that each fire sends",
      role: "operate",
      action: "job.create",
      isCreating: true,
      body: Type.Object({ ...NewJob.properties, reason: Reason }, closed),
      data: Job,
    },
    async ({ scheduler }, { body: { key, reason: _reason, ...definition } }) => {
      const data = await scheduler.jobs.create(key, toDefinition(definition));
      return { data, target: { key }, changed: 1 };
    },
  ),

  "GET /api/jobs/:key": route(
    { summary: "Get one job", role: "read", params: OneJob, data: Job },
    ({ scheduler }, { params: { key } }) => findJob(scheduler.jobs, key),
  ),

  "PATCH /api/jobs/:key": action(
    {
      summary: "Change some of a job's settings; null takes a limit away, and a parked job is free again",
      role: "operate",
      action: "job.update",
      params: OneJob,
      body: Type.Object({ ...ChangedJob.properties, reason: Reason }, closed),
      data: Job,
    },
    async ({ scheduler }, { params: { key }, body: { reason: _reason, ...changes } }) => {
      const data = await scheduler.jobs.update(key, toChanges(changes));
      return { data, target: { key, fields: Object.keys(changes) }, changed: 1 };
    },
  ),

  "DELETE /api/jobs/:key": action(
    {
      summary: "Remove a job and its history; what it has sent stays on the bus",
      role: "operate",
      action: "job.remove",
      params: OneJob,
      query: JustReason,
      data: Type.Object({ key: Type.String() }, closed),
    },
    async ({ scheduler }, { params: { key } }) => {
      await scheduler.jobs.remove(key);
      return { data: { key }, target: { key }, changed: 1 };
    },
  ),

  "POST /api/jobs/:key/pause": action(
    {
      summary: "Keep a job from firing until it is resumed",
      role: "operate",
      action: "job.pause",
      params: OneJob,
      body: JustReason,
      data: Job,
    },
    async ({ scheduler }, { params: { key } }) => {
      await scheduler.jobs.pause(key);
      return { data: await findJob(scheduler.jobs, key), target: { key }, changed: 1 };
    },
  ),

  "POST /api/jobs/:key/resume": action(
    {
      summary: "Let a paused or parked job fire again; its misfire policy says what it catches up",
      role: "operate",
      action: "job.resume",
      params: OneJob,
      body: JustReason,
      data: Job,
    },
    async ({ scheduler }, { params: { key } }) => {
      await scheduler.jobs.resume(key);
      return { data: await findJob(scheduler.jobs, key), target: { key }, changed: 1 };
    },
  ),

  "POST /api/jobs/:key/run": action(
    {
      summary: "Run a job now, whatever its state, beside its schedule",
      role: "operate",
      action: "job.run",
      isCreating: true,
      params: OneJob,
      body: JustReason,
      data: Type.Object({ runId: Uuid, fireTime: Timestamp }, closed),
    },
    async ({ scheduler }, { params: { key } }) => {
      const data = await scheduler.jobs.run(key);
      return { data, target: { key, runId: data.runId }, changed: 1 };
    },
  ),

  "GET /api/jobs/:key/next": route(
    {
      summary: "Get the next times of a job's schedule",
      role: "read",
      params: OneJob,
      query: Type.Object(
        { count: Type.Optional(Type.Integer({ minimum: 1, maximum: nextMax, default: nextDefault })) },
        closed,
      ),
      data: Type.Array(Timestamp),
    },
    ({ scheduler }, { params: { key }, query: { count = nextDefault } }) =>
      scheduler.jobs.nextFireTimes(key, count),
  ),

  "GET /api/jobs/:key/history": route(
    {
      summary: "List what became of a job's times, the latest first",
      role: "read",
      params: OneJob,
      query: Type.Object({ limit: Limit, cursor: FireCursor }, closed),
      data: page(Fire),
    },
    async ({ scheduler }, { params: { key }, query }) => {
      const { limit = limitDefault } = query;
      const fires = await scheduler.jobs.history(key, { ...query, limit });
      return toPage(fires, limit, ({ cursor }) => cursor);
    },
  ),

  "GET /api/jobs/:key/payload": route(
    {
      summary: "Get the commands that each fire of a job sends",
      role: "read",
      params: OneJob,
      data: Type.Array(Type.Unknown()),
    },
    async ({ scheduler }, { params: { key }, caller }, context) => {
      const commands = await scheduler.jobs.payload(key);
      return commands.map((command) => ({
        ...command,
        data: shownPayload(command.data, caller, context),
      }));
    },
  ),
};

async function findJob(jobs: JobStore, key: string): Promise<JobInfo> {
  const job = await jobs.get(key);
  if (!job) throw jobNotFound(key);
  return job;
}
