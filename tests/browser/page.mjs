// The page: a client of gRPC-web by Connect, which learns the services from their descriptors and knows nothing else.
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";

const REQUEST = { format: { case: "deliberation", value: { topic: "Move?", participants: [{ name: "ann" }, { name: "ben" }] } } };

/** Returns the name of the code that a call is refused with. */
async function refusal(calling) {
  try {
    await calling;
    return "none";
  } catch (error) {
    return Code[ConnectError.from(error).code];
  }
}

/** Holds a debate and says what was seen of it. */
window.debate = async (baseUrl, token) => {
  const descriptors = new Uint8Array(await (await fetch("/descriptors")).arrayBuffer());
  const services = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
  const service = services.getService("debate.v1.DebateService");
  const all = services.getEnum("debate.v1.WatchKinds").values.find(({ name }) => name === "WATCH_KINDS_ALL").number;
  const client = (sent) =>
    createClient(service, createGrpcWebTransport({
      baseUrl,
      interceptors: [(next) => (request) => {
        request.header.set("Authorization", `Bearer ${sent}`);
        return next(request);
      }],
    }));
  const known = client(token);
  const started = await known.startDebate({ ...REQUEST, requestId: "from-a-page" });
  const debateId = started.debate.id;
  const seqs = [];
  let last = "";
  for await (const { item } of known.watchDebate({ debateId, kinds: all })) {
    if (item.case !== "event") continue;
    seqs.push(Number(item.value.seq));
    last = item.value.kind;
  }
  const again = await known.startDebate({ ...REQUEST, requestId: "from-a-page" });
  return {
    seqs,
    last,
    isSame: again.debate.id === debateId,
    state: (await known.getDebate({ debateId })).debate.state,
    wrongToken: await refusal(client("wrong").getDebate({ debateId })),
    missing: await refusal(known.getDebate({ debateId: "00000000-0000-7000-8000-000000000000" })),
    invalid: await refusal(known.startDebate({ format: { case: "deliberation", value: {} } })),
  };
};
