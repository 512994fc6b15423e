//! The values of the protocol in Chinese, for pages; in English they are called as on every interface.

/// Returns what a value of an investigation is called in Chinese, by the name that it has on every interface; `None` for
/// whatever is no such name.
pub(super) fn chinese(name: &str) -> Option<&'static str> {
    Some(match name {
        // How hypotheses and evidence stand.
        "investigating" => "调查中",
        "supported" => "支持",
        "weakened" => "削弱",
        "refuted" => "否定",
        "unverified" => "未核实",
        "verified" => "已核实",
        // Kinds of evidence.
        "file_line" => "文件行",
        "commit" => "提交",
        "command_output" => "命令输出",
        "test" => "测试",
        "data" => "数据",
        // Challenges, what they ask for and how they are met.
        "evidence_quality" => "证据质量",
        "logic_flaw" => "逻辑漏洞",
        "counter_evidence" => "反证",
        "alternative_explanation" => "替代解释",
        "new_evidence" => "新证据",
        "reasoning" => "推理",
        "experiment" => "实验",
        "withdrawal" => "撤回",
        "open" => "未回应",
        "closed" => "已回应",
        "ignored" => "已忽略",
        "answer" => "回答",
        "concede" => "承认",
        "refuse" => "拒绝",
        // Convergence.
        "strong" => "强收敛",
        "weak" => "弱收敛",
        "none" => "无收敛",
        // Who names a hypothesis.
        "synthesizer" => "综合员",
        "standing" => "当前排序",
        // What was broken, by which act, and what followed.
        "hidden_evidence" => "隐藏不利证据",
        "no_evidence" => "无证据的论点",
        "out_of_role" => "超越角色边界",
        "challenge_refused" => "拒绝有效挑战",
        "challenge_repeated" => "重复已回应的挑战",
        "independence_broken" => "破坏独立调查",
        "convergence_broken" => "破坏收敛纪律",
        "hypothesis_untrusted" => "假设标记为不可信",
        "claim_ignored" => "论点被忽略",
        "act_refused" => "行为被拒绝",
        "confidence_lowered" => "假设置信度扣分",
        "ended_by_lead" => "Lead 强制结束辩论",
        "propose" => "提出假设",
        "investigate" => "调查假设",
        "challenge" => "发起挑战",
        "assess" => "评估状态",
        "judge" => "最终判定",
        "convey" => "传达结论",
        _ => return None,
    })
}
