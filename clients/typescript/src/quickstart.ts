import { DebateClient } from "./client.js";

const client = new DebateClient(process.env["DEBATE_SERVER"] ?? "http://localhost:50051");
const participants = [{ name: "ann" }, { name: "ben" }];
const request = { format: "deliberation", topic: "Should the library move to a new schema?", participants };
const { id } = await client.start(request);
for await (const event of client.events(id)) {
  console.log(event.seq, event.kind);
}
console.log((await client.show(id)).result);
